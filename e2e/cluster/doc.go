// Package cluster tests Jobs in a real cluster of one node: kubelet, containerd, pods. Its tests have the build tag
// e2e and need the cluster that scripts/cluster.sh brings up; `make e2e` does both, and prints what became of each
// fault. There is nothing else in it.
package cluster
