package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/naming"
)

// launcherRules are the rights that docs/launch.md names.
var launcherRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"pods/log", "configmaps"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "list"}},
}

// The program from end to end, with the rights of the documentation. The kubelet is played.
func TestLaunch(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	p := program{kubeconfig: server.Kubeconfig(t, namespace, launcherRules)}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	kubelet := jobtest.Kubelet{Client: server.Clientset(), Object: naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: "prod", Cluster: "prod"}}
	launched := func(op string, more ...string) string {
		t.Helper()
		e := p.run(t, append([]string{"launch", op, "terraformcluster/prod", "--image", "module", "-f", dir, "--detach"}, more...)...)
		e.want(t, 0, "is created")
		return strings.TrimSpace(e.out)
	}

	p.run(t, "launch", "apply", "tc/prod").want(t, 2, "captf launch apply: --image is missing", "usage: captf launch apply KIND/NAME")
	p.run(t, "launch", "apply", "--nonsense").want(t, 2, "nonsense")
	p.run(t, "launch", "attach", "nothing").want(t, 1, `"nothing" not found`)
	stranger := program{kubeconfig: server.Kubeconfig(t, namespace, nil)}
	stranger.run(t, "launch", "apply", "tc/prod", "--image", "module", "-f", dir).want(t, 1, "forbidden", "the rights that the command needs are in docs/launch.md")
	p.run(t, "launch", "apply", "tc/prod", "--image", "module", "-f", dir, "--dry-run").want(t, 0, "kind: Job")
	job := launched("apply")
	end := jobtest.Succeeded
	end.Outputs = `{"url":{"value":"https://x","type":"string"}}`
	if err := kubelet.Run(t.Context(), job, end); err != nil {
		t.Fatal(err)
	}
	p.run(t, "launch", "attach", job).want(t, 0, "apply succeeded", `url = "https://x"`)

	job = launched("apply", "--guard-deletes")
	if err := kubelet.Run(t.Context(), job, jobtest.Failed); err != nil {
		t.Fatal(err)
	}
	p.run(t, "launch", "attach", job).want(t, 1, "apply: Failed (provider): no quota")

	job = launched("destroy")
	if err := kubelet.Run(t.Context(), job, jobtest.Succeeded); err != nil {
		t.Fatal(err)
	}
	p.run(t, "launch", "attach", job).want(t, 0, "destroy succeeded")
	p.run(t, "state", "ls").want(t, 0)
}
