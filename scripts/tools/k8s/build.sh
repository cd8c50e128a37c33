# etcd, the Kubernetes components and kubectl as one binary, and a symlink for each.
set -euo pipefail
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
# Without these the server reports a placeholder as its version, which clients cannot parse.
p=k8s.io/component-base/version
go build -v -trimpath -ldflags "-s -w -X $p.gitVersion=$version -X $p.gitMajor=$major -X $p.gitMinor=$minor \
	-X $p.gitTreeState=clean -X $p.gitCommit=0000000000000000000000000000000000000000" -o "$1/kubebin" ./cmd/kubebin
for component in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
	ln -sf kubebin "$1/$component"
done
