#!/usr/bin/env bash
# pki.sh DIR IP SERVICE_IP makes the cluster's CA, certificates and kubeconfigs, good for 30 days.
set -euo pipefail
mkdir -p "$1"
cd "$1"
ip=$2 service=$3

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

sign() { # NAME SUBJECT USAGE [ALT_NAMES]
	key "$1.key"
	openssl req -new -key "$1.key" -subj "$2" -out "$1.csr" 2>/dev/null
	{
		echo "basicConstraints=CA:FALSE"
		echo "keyUsage=digitalSignature,keyEncipherment"
		echo "extendedKeyUsage=$3"
		[ -z "${4:-}" ] || echo "subjectAltName=$4"
	} >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -sha256 -extfile "$1.ext" -out "$1.crt" 2>/dev/null
}

kubeconfig() { # NAME
	cat >"$1.kubeconfig" <<-K
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://$ip:6443", certificate-authority-data: $(base64 -w0 ca.crt)}}]
		users: [{name: u, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
		contexts: [{name: x, context: {cluster: c, user: u}}]
		current-context: x
	K
}

key ca.key
openssl req -x509 -new -key ca.key -sha256 -days 30 -subj /CN=e2e-ca -out ca.crt 2>/dev/null
openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
sign apiserver /CN=kube-apiserver serverAuth "DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$ip,IP:$service"
sign kubelet-serving /O=system:nodes/CN=system:node:node0 serverAuth "DNS:node0,IP:$ip"
sign apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
sign admin /O=system:masters/CN=admin clientAuth
sign kube-controller-manager /CN=system:kube-controller-manager clientAuth
sign kube-scheduler /CN=system:kube-scheduler clientAuth
sign kube-proxy /CN=system:kube-proxy clientAuth
sign kubelet /O=system:nodes/CN=system:node:node0 clientAuth
for name in admin kube-controller-manager kube-scheduler kube-proxy kubelet; do kubeconfig "$name"; done
rm -f ./*.csr ./*.ext ./*.srl
