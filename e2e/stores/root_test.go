package stores

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// root is a root module of a real client, with its state on a server.
type root struct {
	runtime tools.Runtime
	dir     string
	env     []string
}

const module = `
terraform {
  backend "http" {}
}
variable "text" {
  default = "one"
}
resource "terraform_data" "x" {
  input = var.text
}
`

// newRoot makes and initialises a module with its state at an address. env is added
// to the client's environment.
func newRoot(t *testing.T, runtime tools.Runtime, address string, env ...string) *root {
	t.Helper()
	r := bareRoot(t, runtime, address, env...)
	r.ok(t, "init", "-no-color")
	return r
}

// bareRoot is newRoot without init.
func bareRoot(t *testing.T, runtime tools.Runtime, address string, env ...string) *root {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "config")
	r := &root{runtime: runtime, dir: filepath.Join(home, "module")}
	r.env = append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + config, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"TF_HTTP_ADDRESS=" + address, "TF_HTTP_LOCK_ADDRESS=" + address, "TF_HTTP_UNLOCK_ADDRESS=" + address, "TF_HTTP_RETRY_MAX=0",
	}, env...)
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.write(t, "main.tf", module)
	return r
}

func (r *root) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *root) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.runtime.Path, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *root) ok(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.run(t, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", r.runtime.Name, strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs a command that has to fail with a text in its output.
func (r *root) refused(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := r.run(t, args...)
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("%s %s: %v, want a failure with %q\n%s", r.runtime.Name, strings.Join(args, " "), err, want, out)
	}
}

func apply(text string) []string {
	return []string{"apply", "-no-color", "-auto-approve", "-var=text=" + text}
}
