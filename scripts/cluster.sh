#!/usr/bin/env bash
# cluster.sh is a real Kubernetes cluster of one node on this machine, for tests.
#
#   cluster.sh up IMAGES       bring it up with the images of an OCI layout; prints the kubeconfig's path
#   cluster.sh down            remove it, with all that it left
#   cluster.sh stop NAME...    kill components (kubelet, kube-apiserver, ...) and keep them down
#   cluster.sh start NAME...   let them start again
#   cluster.sh reboot          kill all of the node at once, as a power cut does, and start it again from its disk
#   cluster.sh exec COMMAND    run a command on the node
#   cluster.sh packages        install the Debian packages that it needs; `up` does so, too
#   cluster.sh leftovers       list what a cluster could leave on this machine; compare before up and after down
#
# All of it (containerd, the pods, etcd, the Kubernetes components) is in one PID, mount, network, UTS and IPC namespace, so
# one kill ends it, and the machine's /run, /var/lib, sysctls and firewall stay as they are. A veth pair joins
# it to the machine: 10.243.0.1 here, 10.243.0.2 the node, pods in 10.244.0.0/24, services in 10.96.0.0/24.
# One cluster runs at a time. Needs root, `make tools` and some Debian packages, which it installs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export DIR=${CAPTF_CLUSTER_DIR:-$root/.tools/cluster} BIN=$root/.tools/bin NS=captf-e2e
export IP=10.243.0.2 PODS=10.244.0.0/24 SERVICES=10.96.0.0/24 PKI=$DIR/pki
host=10.243.0.1 link=captf-e2e
start=$(date +%s%N)

say() { printf '%6.1fs cluster: %s\n' "$((($(date +%s%N) - start) / 100000000))e-1" "$*" >&2; }
die() { say "$*"; exit 1; }

packages() {
	local missing=() pair
	for pair in containerd:containerd runc:runc nft:nftables conntrack:conntrack iptables:iptables ip:iproute2 openssl:openssl curl:curl; do
		[ -n "$(type -P "${pair%:*}")" ] || missing+=("${pair#*:}")
	done
	[ -e /usr/lib/cni/bridge ] || missing+=(containernetworking-plugins)
	[ ${#missing[@]} -gt 0 ] || return 0
	say "install ${missing[*]}"
	# No service is started: this cluster runs a containerd of its own.
	export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
	apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

await() { # NAME SECONDS COMMAND...
	local name=$1 end=$((SECONDS + $2))
	shift 2
	until "$@" >/dev/null 2>&1; do
		alive || { tail -n 20 "$DIR"/logs/*.log >&2; die "the node died"; }
		[ $SECONDS -lt $end ] || { tail -n 20 "$DIR"/logs/*.log >&2; die "$name is not ready"; }
		sleep 0.1
	done
	say "$name is ready"
}

# alive tells whether the node is there and is this cluster's, not another process of the same number.
alive() { [ -e "$DIR/node.pid" ] && grep -qaF "$root/scripts/cluster/node.sh" "/proc/$(cat "$DIR/node.pid")/cmdline" 2>/dev/null; }

kubectl() { "$BIN/kubectl" --kubeconfig "$PKI/admin.kubeconfig" "$@"; }
node_ready() { kubectl get node node0 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.spec.taints}' | grep -qx 'True '; }

up() { # IMAGES
	export IMAGES
	IMAGES=$(realpath "$1")
	[ "$(id -u)" = 0 ] || die "this needs root"
	[ -x "$BIN/kubelet" ] || die "no $BIN/kubelet: run make tools"
	packages
	[ ! -e "$DIR/node.pid" ] || down
	[ ! -e "/run/netns/$NS" ] || die "another cluster is up: take it down with the cluster.sh that brought it up"
	mkdir -p "$DIR"/{logs,cni,fake,off,pids}
	[ -n "$(find "$PKI/kubelet.kubeconfig" -mtime -20 2>/dev/null)" ] || "$root/scripts/cluster/pki.sh" "$PKI" $IP 10.96.0.1
	join
	echo "$IMAGES" >"$DIR/images"
	: >"$DIR/logs/node.log"
	boot
	await "the default ServiceAccount" 120 kubectl -n default get serviceaccount default
	echo "$PKI/admin.kubeconfig"
}

boot() {
	# Not `ip netns exec`: it mounts another /sys, without the cgroups.
	setsid nohup nsenter --net="/run/netns/$NS" unshare --pid --mount --uts --ipc --fork --kill-child --mount-proc \
		"$root/scripts/cluster/node.sh" >>"$DIR/logs/node.log" 2>&1 </dev/null &
	echo $! >"$DIR/node.pid"
	disown
	await "the API server" 120 curl -sf --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" "https://$IP:6443/readyz"
	await "the image store" 120 test -e "$DIR/imported"
	await "the node" 120 node_ready
}

reboot() {
	alive || die "no cluster is up"
	power_off
	IMAGES=$(cat "$DIR/images")
	export IMAGES
	rm -f "$DIR"/off/*
	boot
}

# power_off ends every process of the node at once.
power_off() {
	local pid
	pid=$(cat "$DIR/node.pid")
	kill -9 "$pid"
	for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.1; done
}

join() {
	ip netns add "$NS"
	ip link add "$link" type veth peer name eth0 netns "$NS"
	ip addr add $host/30 dev "$link"
	ip link set "$link" up
	ip -n "$NS" link set lo up
	ip -n "$NS" addr add $IP/30 dev eth0
	ip -n "$NS" link set eth0 up
	ip -n "$NS" route add default via $host
	ip route add $PODS via $IP
	ip route add $SERVICES via $IP
}

down() {
	if alive; then power_off; fi
	if [ -e "$DIR/node.pid" ]; then
		ip netns del "$NS" 2>/dev/null || true
		ip link del "$link" 2>/dev/null || true
	fi
	for _ in $(seq 50); do # the processes take a moment to leave their groups
		find /sys/fs/cgroup -depth -type d -path "*/$NS*" -exec rmdir {} + 2>/dev/null || true
		compgen -G "/sys/fs/cgroup/*/$NS" >/dev/null || break
		sleep 0.1
	done
	# The logs stay, for whoever wants to know why a test failed.
	rm -rf "$DIR"/{fs,cni,fake,off,pids,imported,images,node.pid}
	say "down"
}

on_node() { nsenter -t "$(pgrep -P "$(cat "$DIR/node.pid")")" -p -m -n -u -i -- "$@"; }

stop() {
	local name pid
	for name in "$@"; do
		pid=$(cat "$DIR/pids/$name") || die "there is no component $name"
		touch "$DIR/off/$name"
		on_node kill -9 "$pid"
		while on_node kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
		say "$name is stopped"
	done
}

start() {
	local name
	for name in "$@"; do rm -f "$DIR/off/$name"; done
}

leftovers() {
	ip -br link | awk '{print "link", $1}' | grep -v 'veth' || true
	ip route | sed 's/^/route /'
	ip netns list | sed 's/^/netns /'
	awk '$2 ~ /captf|containerd|kubelet/ {print "mount", $2}' /proc/mounts
	find /sys/fs/cgroup -maxdepth 3 -path "*$NS*" | sed 's/^/cgroup /'
	nft list tables 2>/dev/null | sed 's/^/nft /' || true
	iptables-save 2>/dev/null | grep '^-A' | sed 's/^/iptables /' || true
	sysctl -n vm.overcommit_memory kernel.panic kernel.panic_on_oops net.ipv4.ip_forward | sed 's/^/sysctl /'
	for dir in /var/lib/kubelet /var/lib/cni /var/lib/etcd /var/log/pods /var/log/containers /run/containerd; do
		[ ! -e $dir ] || find $dir -mindepth 1 | sed 's/^/file /'
	done
	pgrep -af "$BIN/(etcd|kube)|$DIR/containerd.toml|scripts/cluster/node.sh" | sed 's/^/process /' || true
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
up | stop | start) [ $# -gt 0 ] || die "$command what?"; $command "$@" ;;
down | reboot | leftovers | packages) $command ;;
exec) on_node "$@" ;;
*) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
