package explain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// workdir is a folder with a root module and a local state.
type workdir struct {
	dir     string
	runtime tools.Runtime
}

// eachRuntime runs a test with OpenTofu and with Terraform.
func eachRuntime(t *testing.T, test func(*testing.T, workdir)) {
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			w := workdir{dir: t.TempDir(), runtime: runtime}
			w.write(t, "cli.tfrc", fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n"+
				"  filesystem_mirror {\n    path = %q\n    include = [\"*/*/*\"]\n  }\n}\n", tools.Mirror(t)))
			test(t, w)
		})
	}
}

func (w workdir) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// must runs the runtime, and returns its state.
func (w workdir) must(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(w.runtime.Path, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + filepath.Join(w.dir, "cli.tfrc"),
		"TF_CLI_ARGS=-no-color", "TF_IN_AUTOMATION=1",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", w.runtime.Name, args, err, out)
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil && args[0] != "init" {
		t.Fatal(err)
	}
	return string(text)
}

// apply configures a root module, and returns the state that it makes.
func (w workdir) apply(t *testing.T, root string) string {
	t.Helper()
	w.write(t, "main.tf", strings.ReplaceAll(root, "%DIR%", w.dir))
	w.must(t, "init", "-input=false")
	return w.must(t, "apply", "-auto-approve", "-input=false")
}

// secrets are the values that no output of this package may hold.
var secrets = []string{"hunter2-hunter2", "swordfish-0", "marked-elsewhere", "s3cr3t-0utput", "in-a-nested-0bject"}

func hasNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %q:\n%s", what, s, text)
		}
	}
}

// root has a bit of everything.
const root = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
provider "probe" { alias = "other" }
variable "marked" {
  default   = "marked-elsewhere"
  sensitive = true
}
variable "text" { default = "one" }
variable "nested" {
  default = { open = "open", closed = "in-a-nested-0bject" }
}
resource "probe_file" "first" {
  path    = "%DIR%/first"
  content = var.marked
  secret  = "hunter2-hunter2"
}
resource "probe_file" "second" {
  for_each = { "a" = 1, "b/\"c\"" = 2 }
  provider = probe.other
  path     = "%DIR%/second-${each.value}"
  content  = "${var.text}"
  delay    = probe_file.first.id == "" ? "1s" : "0s"
}
resource "terraform_data" "nested" {
  input = { open = var.nested.open, closed = sensitive(var.nested.closed), password = "swordfish-0", motd = "login swordfish-0" }
}
module "child" {
  count  = 2
  source = "./child"
  text   = var.text
  needs  = [for f in probe_file.second : f.id]
}
output "open" { value = var.text }
output "closed" {
  value     = "s3cr3t-0utput"
  sensitive = true
}
`

const child = `
variable "text" {}
variable "needs" {}
resource "terraform_data" "x" { input = [var.text, var.needs] }
resource "terraform_data" "y" { input = terraform_data.x.id }
data "terraform_remote_state" "none" {
  backend = "local"
  config  = { path = "empty.tfstate" }
}
`

const emptyState = `{"version":4,"terraform_version":"1.5.7","serial":1,"lineage":"none","outputs":{},"resources":[]}`

// applied makes the root module, and returns its state.
func (w workdir) applied(t *testing.T) string {
	t.Helper()
	w.write(t, "child/main.tf", child)
	w.write(t, "empty.tfstate", emptyState)
	return w.apply(t, root)
}
