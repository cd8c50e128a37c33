#!/usr/bin/env bash
# docker.sh is a Docker Engine for tests, beside the one that this machine may have.
#
#   docker.sh up     start it, in the network of the cluster that scripts/cluster.sh has brought up; prints its DOCKER_HOST
#   docker.sh down   stop it, and remove all that it has
#
# It is Debian's dockerd, in a PID and a mount namespace of its own. It has no bridge: a container has its loopback
# interface alone, or with --network host the cluster's network. Needs root, and installs docker.io.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${CAPTF_DOCKER_DIR:-$root/.tools/docker}
group=captf-e2e-docker
node=/run/netns/captf-e2e

say() { printf 'docker: %s\n' "$*" >&2; }

packages() {
	[ -z "$(type -P dockerd)" ] || return 0
	say "install docker.io"
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends docker.io >&2
}

up() {
	local end
	[ -e "$node" ] || { say "no cluster is up: run scripts/cluster.sh up first"; exit 1; }
	packages
	[ ! -e "$dir/pid" ] || down
	mkdir -p "$dir"
	cat >"$dir/daemon.json" <<-J
		{"data-root": "$dir/data", "exec-root": "$dir/exec", "pidfile": "$dir/docker.pid", "hosts": ["unix://$dir/docker.sock"],
		 "bridge": "none", "iptables": false, "ip6tables": false, "ip-forward": false, "storage-driver": "overlay2",
		 "oom-score-adjust": 0, "cgroup-parent": "/$group", "features": {"buildkit": true}}
	J
	# /run: its shims have their sockets there, whatever the configuration says.
	setsid nohup nsenter --net="$node" unshare --pid --mount --fork --kill-child --mount-proc \
		sh -c 'mount -t tmpfs tmpfs /run && exec dockerd --config-file "$0"' "$dir/daemon.json" >"$dir/log" 2>&1 </dev/null &
	echo $! >"$dir/pid"
	disown
	end=$((SECONDS + 60))
	until DOCKER_HOST=unix://$dir/docker.sock /usr/bin/docker version >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] && [ -d "/proc/$(cat "$dir/pid")" ] || { tail -n 20 "$dir/log" >&2; say "dockerd does not start"; exit 1; }
		sleep 0.1
	done
	say "dockerd is ready"
	echo "unix://$dir/docker.sock"
}

down() {
	local pid
	if [ -e "$dir/pid" ]; then
		pid=$(cat "$dir/pid")
		if grep -qaF "$dir/daemon.json" "/proc/$pid/cmdline" 2>/dev/null; then
			kill -9 "$pid"
			for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.1; done
		fi
	fi
	for _ in $(seq 50); do
		find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null || true
		compgen -G "/sys/fs/cgroup/*/$group" >/dev/null || break
		sleep 0.1
	done
	rm -rf "$dir"/{data,exec,docker.sock,docker.pid,daemon.json,pid}
	say "down"
}

case ${1:-} in
up | down | packages) $1 ;;
*) say "usage: docker.sh up|down|packages"; exit 2 ;;
esac
