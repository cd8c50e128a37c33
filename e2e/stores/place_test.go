package stores

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/captf/captf-runner/internal/kubetest"
)

// place is an empty store for processes of statesrv.
type place struct {
	store string
	// env is what a server's environment needs; two servers get the two of them in
	// turn.
	env [2][]string
	// remove are the steps of somebody who removes the store under its server.
	remove []removal
}

// places are the stores that several servers may share.
var places = map[string]func(t *testing.T) place{
	"dir": func(t *testing.T) place {
		path := t.TempDir()
		return place{store: "dir:" + path, remove: removeDir(path)}
	},
	"s3": func(t *testing.T) place {
		gateways := startGateways(t, 2)
		return place{store: "s3://" + bucket + "/shared", remove: removeBucket(gateways[0]), env: [2][]string{
			{"STATESRV_S3_ENDPOINTS=" + gateways[0] + "," + gateways[1]},
			{"STATESRV_S3_ENDPOINTS=" + gateways[1] + "," + gateways[0]},
		}}
	},
	"kubernetes": func(t *testing.T) place {
		server := kubetest.Shared(t)
		namespace := server.Namespace(t)
		rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "update", "delete"}}}
		env := []string{"KUBECONFIG=" + server.Kubeconfig(t, namespace, rules)}
		return place{store: "kubernetes://" + namespace + "/shared", env: [2][]string{env, env}, remove: removeNamespace(server.Clientset(), namespace)}
	},
}

// onPlaces runs a test on each store that servers may share.
func onPlaces(t *testing.T, test func(t *testing.T, p place)) {
	for name, make := range places {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

// servers starts two servers on one place.
func (p place) servers(t *testing.T) []string {
	t.Helper()
	return []string{startServer(t, p.store, p.env[0]...), startServer(t, p.store, p.env[1]...)}
}

// stateOf is a small state.
func stateOf(serial int) []byte {
	return fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"l"}`, serial)
}
