#!/usr/bin/env bash
# node.sh is PID 1 of the cluster's namespaces: it starts every component, and again whenever one ends, until it is killed.
# cluster.sh runs it, with the settings in the environment.
set -euo pipefail

socket=/run/containerd/containerd.sock

say() { printf '%s\n' "$*"; }

await() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { say "this never worked: $*"; return 1; }
		sleep 0.1
	done
}

# keep runs a component for ever. While DIR/off/NAME exists it stays down.
keep() { # NAME COMMAND...
	local name=$1
	shift
	while :; do
		while [ -e "$DIR/off/$name" ]; do sleep 0.1; done
		"$@" >>"$DIR/logs/$name.log" 2>&1 </dev/null &
		echo $! >"$DIR/pids/$name"
		wait $! || true
		say "$name ended"
		sleep 0.2
	done
}

# The fixed paths of the components are this cluster's own, and the machine's sysctls are not theirs to set.
mounts() {
	local dir
	mount --make-rprivate /
	mount -t tmpfs tmpfs /run
	for dir in /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/lib/etcd /var/log; do
		mkdir -p "$dir" "$DIR/fs$dir"
		mount --bind "$DIR/fs$dir" "$dir"
	done
	echo 1 >"$DIR/fake/1"
	echo 10 >"$DIR/fake/10"
	mount --bind "$DIR/fake/1" /proc/sys/vm/overcommit_memory
	mount --bind "$DIR/fake/10" /proc/sys/kernel/panic
	mount --bind "$DIR/fake/1" /proc/sys/kernel/panic_on_oops
}

# On cgroup v1 each controller has a tree; on v2 there is one, whose controllers have to be handed down.
cgroups() {
	local root
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		mkdir -p "/sys/fs/cgroup/$NS"
		sed 's/\(^\| \)/ +/g' /sys/fs/cgroup/cgroup.controllers >/sys/fs/cgroup/cgroup.subtree_control || true
		sed 's/\(^\| \)/ +/g' "/sys/fs/cgroup/$NS/cgroup.controllers" >"/sys/fs/cgroup/$NS/cgroup.subtree_control" || true
		return
	fi
	for root in /sys/fs/cgroup/*/; do
		mkdir -p "$root$NS" 2>/dev/null || continue
		[ ! -e "$root/cpuset.cpus" ] || cat "$root/cpuset.cpus" >"$root$NS/cpuset.cpus"
		[ ! -e "$root/cpuset.mems" ] || cat "$root/cpuset.mems" >"$root$NS/cpuset.mems"
	done
}

network() {
	hostname node0
	sysctl -qw net.ipv4.ip_forward=1
	sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
	echo "# no nameserver" >"$DIR/resolv.conf"
	cat >"$DIR/cni/10-bridge.conflist" <<-J
		{"cniVersion": "1.0.0", "name": "pods", "plugins": [
		 {"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
		  "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "$PODS"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
	J
}

# restrict_oom_score_adj: without CAP_SYS_RESOURCE no process may have a score below ours.
containerd_config() {
	cat <<-T
		version = 2
		root  = "/var/lib/containerd"
		state = "/run/containerd"
		disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
		  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.restart"]
		[grpc]
		  address = "$socket"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "/var/lib/containerd/opt"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "localhost/pause:dev"
		  restrict_oom_score_adj = true
		  disable_apparmor = true
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir  = "/usr/lib/cni"
		    conf_dir = "$DIR/cni"
		  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		    runtime_type = "io.containerd.runc.v2"
	T
}

# cgroupDriver: containerd 1.6 cannot tell it. The thresholds: a full disk must neither evict pods nor
# collect images that cannot be pulled again.
kubelet_config() {
	cat <<-Y
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: 0.0.0.0
		port: 10250
		readOnlyPort: 0
		healthzBindAddress: 127.0.0.1
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: $PKI/ca.crt}
		authorization: {mode: Webhook}
		tlsCertFile: $PKI/kubelet-serving.crt
		tlsPrivateKeyFile: $PKI/kubelet-serving.key
		containerRuntimeEndpoint: unix://$socket
		cgroupDriver: cgroupfs
		failCgroupV1: false
		failSwapOn: false
		cgroupsPerQOS: true
		cgroupRoot: /$NS
		enforceNodeAllocatable: []
		protectKernelDefaults: false
		makeIPTablesUtilChains: false
		oomScoreAdj: 0
		resolvConf: $DIR/resolv.conf
		clusterDomain: cluster.local
		volumePluginDir: /var/lib/kubelet/volumeplugins
		imageMinimumGCAge: 24h
		imageGCHighThresholdPercent: 100
		imageGCLowThresholdPercent: 99
		evictionHard: {memory.available: "50Mi", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
		nodeStatusUpdateFrequency: 10s
		syncFrequency: 10s
		maxPods: 50
	Y
}

proxy_config() {
	cat <<-Y
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: nftables
		hostnameOverride: node0
		clusterCIDR: $PODS
		clientConnection: {kubeconfig: "$PKI/kube-proxy.kubeconfig"}
		healthzBindAddress: 127.0.0.1:10256
		metricsBindAddress: 127.0.0.1:10249
		conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
	Y
}

control_plane() {
	keep etcd "$BIN/etcd" --name=e0 --data-dir=/var/lib/etcd/e0 --unsafe-no-fsync --log-level=warn \
		--listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
		--listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 --initial-cluster=e0=http://127.0.0.1:2380 &
	keep kube-apiserver "$BIN/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --cert-dir="$PKI" \
		--bind-address=0.0.0.0 --advertise-address="$IP" --secure-port=6443 --service-cluster-ip-range="$SERVICES" \
		--tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
		--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$PKI/sa.pub" \
		--service-account-signing-key-file="$PKI/sa.key" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
		--allow-privileged=true --kubelet-client-certificate="$PKI/apiserver-kubelet-client.crt" \
		--kubelet-client-key="$PKI/apiserver-kubelet-client.key" --kubelet-certificate-authority="$PKI/ca.crt" \
		--kubelet-preferred-address-types=InternalIP &
	keep kube-controller-manager "$BIN/kube-controller-manager" --kubeconfig="$PKI/kube-controller-manager.kubeconfig" \
		--bind-address=127.0.0.1 --use-service-account-credentials=true --service-account-private-key-file="$PKI/sa.key" \
		--root-ca-file="$PKI/ca.crt" --leader-elect=false --allocate-node-cidrs=false --cert-dir="$PKI" \
		--flex-volume-plugin-dir=/var/lib/kubelet/volumeplugins &
	keep kube-scheduler "$BIN/kube-scheduler" --kubeconfig="$PKI/kube-scheduler.kubeconfig" --bind-address=127.0.0.1 \
		--leader-elect=false --cert-dir="$PKI" &
}

worker() {
	keep kubelet "$BIN/kubelet" --config="$DIR/kubelet.yaml" --kubeconfig="$PKI/kubelet.kubeconfig" --cert-dir="$PKI" \
		--hostname-override=node0 --node-ip="$IP" &
	keep kube-proxy "$BIN/kube-proxy" --config="$DIR/kube-proxy.yaml" &
}

mounts
cgroups
network
containerd_config >"$DIR/containerd.toml"
kubelet_config >"$DIR/kubelet.yaml"
proxy_config >"$DIR/kube-proxy.yaml"
keep containerd containerd -c "$DIR/containerd.toml" &
control_plane
await 60 ctr -a $socket version
if [ ! -e "$DIR/imported" ]; then # after a reboot they are there
	tar -C "$IMAGES" -cf - . | ctr -a $socket -n k8s.io images import - >"$DIR/logs/images.log" 2>&1
	touch "$DIR/imported"
fi
# The kubelet registers its node once, and waits long before it tries again.
await 120 curl -sf --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" "https://$IP:6443/readyz"
worker
while :; do wait -n || sleep 1; done
