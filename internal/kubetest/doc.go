// Package kubetest runs a real etcd and kube-apiserver for tests.
//
// Start gives a test its own server. A package whose tests may share one calls Run in its TestMain, and
// Shared in the tests: the server starts with the first test that asks. Every test takes a fresh
// Namespace, and a Kubeconfig or a ServiceAccountDir for what it tests, so that RBAC is tested too.
//
// No controller runs: Jobs stay as they are written, pods do not start, a deleted namespace stays
// Terminating, and a namespace has no default ServiceAccount. A test plays the missing part through Clientset.
//
// The servers die with the test process, however it ends (on Linux). Their data and logs are beside the
// test binary, in the work folder of the go command, and go with it.
package kubetest
