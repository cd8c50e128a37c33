//go:build e2e

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// docker runs Debian's docker in the checkout's root, on the engine that scripts/docker.sh has started.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	host := os.Getenv("CAPTF_DOCKER_HOST")
	if host == "" {
		t.Fatal("CAPTF_DOCKER_HOST is empty: use make e2e, or what scripts/docker.sh up prints")
	}
	cmd := exec.Command("/usr/bin/docker", args...)
	cmd.Dir = tools.Root(t)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+host, "DOCKER_BUILDKIT=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("docker %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestDocker builds and runs the images by the commands of docs/images.md.
func TestDocker(t *testing.T) {
	t.Parallel()
	docker(t, "build", "-t", "localhost/captf-runner:dev", ".")
	if out := docker(t, "run", "--rm", "localhost/captf-runner:dev", "version"); !strings.Contains(out, "captf-runner ") {
		t.Errorf("version: %s", out)
	}
	for _, runtime := range runtimes {
		base, example := "localhost/captf-"+runtime+":dev", "localhost/captf-example-mirror-"+runtime+":dev"
		docker(t, "build", "-f", "images/"+runtime+"/Dockerfile", "-t", base, ".")
		docker(t, "build", "-f", "images/examples/mirror/Dockerfile", "--build-arg", "BASE="+base, "-t", example, ".")
		t.Run(runtime+"/local", func(t *testing.T) { dockerLocal(t, runtime, example) })
		t.Run(runtime+"/kubeconfig", func(t *testing.T) { dockerKubeconfig(t, runtime, example) })
	}
	docker(t, "build", "-t", "localhost/captf-example-bare-opentofu:dev", "images/examples/bare")
}

// dockerLocal keeps the state in a volume: the second run knows what the first one made. The image's own user writes to
// it, and the root file system is read-only.
func dockerLocal(t *testing.T, runtime, image string) {
	run := func(op string, flags ...string) string {
		return docker(t, append([]string{"run", "--rm", "--read-only", "-v", "greeting-" + runtime + ":/captf/work", image,
			"run", "--local", "--op", op, "--var-file", "/captf/work/my.tfvars"}, flags...)...)
	}
	vars := filepath.Join(t.TempDir(), "my.tfvars")
	if err := os.WriteFile(vars, []byte(`dir = "/captf/work"`), 0o644); err != nil {
		t.Fatal(err)
	}
	docker(t, "create", "--name", "copy-"+runtime, "-v", "greeting-"+runtime+":/captf/work", image)
	docker(t, "cp", vars, "copy-"+runtime+":/captf/work/my.tfvars")
	for _, step := range []struct{ op, want string }{
		{"apply", "1 added, 0 changed, 0 destroyed"},
		{"plan", "no changes"},
		{"destroy", "0 added, 0 changed, 1 destroyed"},
	} {
		if out := run(step.op); !strings.Contains(out, step.want) {
			t.Errorf("%s: no %q in\n%s", step.op, step.want, out)
		}
	}
}

// dockerKubeconfig keeps the state in the cluster.
func dockerKubeconfig(t *testing.T, runtime, image string) {
	s := newSubject(t, runtime)
	config := t.TempDir()
	text := `module "this" {
  source = "/captf/module"
  dir    = "/captf/work"
}`
	for name, content := range map[string]string{"main.tf": text, "terraform.tfvars.json": "{}"} {
		if err := os.WriteFile(filepath.Join(config, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := docker(t, "run", "--rm", "--read-only", "--network", "host", "--user", "0:0", "--tmpfs", "/captf/work:exec,mode=1777",
		"-v", kubeconfig(t)+":/kube/config:ro", "-v", config+":/captf/config:ro", image,
		"run", "--op", "apply", "--result", "/captf/work/result.json",
		"--backend-config", "config_path=/kube/config", "--backend-config", "secret_suffix=demo", "--backend-config", "namespace="+s.object.Namespace)
	if !strings.Contains(out, "Resources: 1 added") {
		t.Errorf("apply:\n%s", out)
	}
	if names := kubectl(t, "-n", s.object.Namespace, "get", "secrets", "-o", "name"); !strings.Contains(names, "secret/tfstate-default-demo") {
		t.Errorf("Secrets in the cluster: %s", names)
	}
}
