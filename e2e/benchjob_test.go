package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
)

// job is one first apply of 20 resources, to a state of its own.
type job struct {
	dir      string // with the root in config
	runtime  string
	settings []string // of the backend
	env      []string
	mirror   string
}

// jobModules are what is applied: the least that a runtime can do, and the least that a module of use does.
var jobModules = map[string]string{
	"bare": `
resource "terraform_data" "it" {
  count = 20
  input = "${var.dir} ${count.index}"
}
`,
	"provider": `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
resource "probe_file" "it" {
  count   = 20
  path    = "${var.dir}/${count.index}"
  content = "hello"
}
`,
}

// newJob prepares a folder for the job. The environment is that of a person who has configured the runtime as
// the runner would: it reaches out for nothing.
func newJob(b *testing.B, runtime, module, backend string, settings []string) job {
	b.Helper()
	j := job{dir: b.TempDir(), runtime: runtime, settings: settings, mirror: tools.Mirror(b)}
	j.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "TF_CLI_CONFIG_FILE=" + filepath.Join(j.dir, "cli.tfrc"),
		"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
	}
	for _, dir := range []string{"config", "made"} {
		if err := os.Mkdir(filepath.Join(j.dir, dir), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"config/main.tf":               fmt.Sprintf("terraform {\n  backend %q {}\n}\nvariable \"dir\" {}\n%s", backend, jobModules[module]),
		"config/terraform.tfvars.json": fmt.Sprintf(`{"dir": %q}`, filepath.Join(j.dir, "made")),
		"cli.tfrc": fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n    include = [\"*/*/*\"]\n  }\n}\n",
			j.mirror),
	} {
		if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return j
}

// runner is the job as the runner does it.
func (j job) runner(b *testing.B, flags ...string) *exec.Cmd {
	b.Helper()
	args := []string{"run", "--op", "apply", "--bin", j.runtime, "--module", "config", "--config", "config",
		"--workdir", "work", "--result", "result.json", "--providers", j.mirror}
	for _, setting := range j.settings {
		args = append(args, "--backend-config", setting)
	}
	cmd := exec.Command(tools.Build(b, "./cmd/captf-runner"), append(args, flags...)...)
	cmd.Dir, cmd.Env = j.dir, j.env
	return cmd
}

// shell is the job as a person types it: the very commands that the runner would run, joined by &&.
func (j job) shell(b *testing.B) *exec.Cmd {
	b.Helper()
	dry := j.runner(b, "--dry-run")
	out, err := dry.Output()
	if err != nil {
		b.Fatalf("%s: %v", dry, err)
	}
	var commands []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, j.runtime+" ") {
			commands = append(commands, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(commands) != 2 {
		b.Fatalf("init and apply are two commands, not\n%s", out)
	}
	cmd := exec.Command("sh", "-c", strings.Join(commands, " && "))
	cmd.Dir, cmd.Env = filepath.Join(j.dir, "config"), j.env
	return cmd
}

// cost is what one run took, with all its processes, in milliseconds.
type cost struct{ wall, cpu float64 }

func measure(b *testing.B, cmd *exec.Cmd) cost {
	b.Helper()
	output, err := os.Create(filepath.Join(b.TempDir(), "output"))
	if err != nil {
		b.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if err != nil {
		text, _ := os.ReadFile(output.Name())
		b.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return cost{wall: milliseconds(wall), cpu: milliseconds(cpu)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
