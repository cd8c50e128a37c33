package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/naming"
)

// The program from end to end, with the rights of deploy/launch.yaml. The kubelet is played.
func TestLaunch(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	roles := kubetest.ManifestRules(t, "launch.yaml")
	rights := slices.Concat(roles["captf-launch"], roles["captf-launch-follow"])
	p := program{kubeconfig: server.Kubeconfig(t, namespace, rights)}
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
