package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// fixture is one state with one runtime on one backend.
type fixture struct {
	dir     string // where the runner is started
	config  string // the root
	files   string // where its resources are
	runtime tools.Runtime
	backend backend
	binary  string
	mirror  string
	env     []string // besides PATH
	timeout time.Duration
}

// rootModule makes two files, the second one after the first.
const rootModule = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "files" { type = string }
variable "content" { default = "one" }
variable "second" { default = true }
variable "password" {
  default   = "hunter2-hunter2"
  sensitive = true
}
resource "probe_file" "first" {
  path    = "${var.files}/first"
  content = var.content
  secret  = var.password
}
resource "probe_file" "second" {
  count   = var.second ? 1 : 0
  path    = "${var.files}/second"
  content = probe_file.first.content
}
output "content" { value = probe_file.first.content }
output "password" {
  value     = var.password
  sensitive = true
}
`

func newFixture(t *testing.T, runtime tools.Runtime, newBackend func(*testing.T, *fixture) backend) *fixture {
	t.Helper()
	base := t.TempDir()
	f := &fixture{
		dir: base, config: filepath.Join(base, "config"), files: filepath.Join(base, "files"),
		runtime: runtime, binary: tools.Build(t, "./cmd/captf-runner"), mirror: tools.Mirror(t),
		env: []string{"PATH=" + os.Getenv("PATH")}, timeout: 3 * time.Minute,
	}
	for _, dir := range []string{f.config, f.files} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.write(t, "main.tf", rootModule)
	f.variables(t, nil)
	if newBackend != nil {
		f.backend = newBackend(t, f)
	}
	return f
}

func (f *fixture) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(f.config, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// variables writes the variables file; values are JSON.
func (f *fixture) variables(t *testing.T, values map[string]string) {
	t.Helper()
	text := `{"files": "` + f.files + `"`
	for name, value := range values {
		text += `, "` + name + `": ` + value
	}
	f.write(t, "terraform.tfvars.json", text+"}")
}

// outcome is what one run of the runner left.
type outcome struct {
	code   int
	result *result.Result
	raw    string // the result document
	stdout string
	stderr string
	took   time.Duration
}

func (o outcome) String() string {
	return "result: " + o.raw + "\nstdout:\n" + o.stdout + "\nstderr:\n" + o.stderr
}

// command prepares a run. The context ends a run that hangs.
func (f *fixture) command(ctx context.Context, op string, flags ...string) *exec.Cmd {
	args := []string{"run", "--op", op, "--bin", f.runtime.Path, "--module", f.config,
		"--providers", f.mirror, "--result", filepath.Join(f.dir, "result.json"), "--workdir", filepath.Join(f.dir, "work")}
	if f.backend != nil {
		args = append(args, f.backend.flags()...)
	}
	if _, local := f.backend.(*served); !local || len(f.backend.flags()) == 0 {
		args = append(args, "--config", f.config)
	}
	cmd := exec.CommandContext(ctx, f.binary, append(args, flags...)...)
	cmd.Dir, cmd.Env = f.dir, f.env
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs one operation to its end.
func (f *fixture) run(t *testing.T, op string, flags ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), f.timeout)
	defer cancel()
	return f.finish(t, ctx, f.command(ctx, op, flags...))
}

func (f *fixture) finish(t *testing.T, ctx context.Context, cmd *exec.Cmd) outcome {
	t.Helper()
	_ = os.Remove(filepath.Join(f.dir, "result.json"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run: %v", err)
	}
	if ctx.Err() != nil {
		t.Fatalf("the run hung for %s:\n%s", f.timeout, o)
	}
	o.code = cmd.ProcessState.ExitCode()
	o.read(t, filepath.Join(f.dir, "result.json"))
	return o
}

func (o *outcome) read(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	o.raw = string(data)
	if o.result, err = result.Decode(data); err != nil {
		t.Fatalf("result document: %v\n%s", err, o)
	}
}

// must runs an operation that has to end with this code.
func (f *fixture) must(t *testing.T, code int, op string, flags ...string) outcome {
	t.Helper()
	o := f.run(t, op, flags...)
	if o.result == nil {
		t.Fatalf("no result\n%s", o)
	}
	if o.code != code {
		t.Fatalf("%s: exit %d, want %d\n%s", op, o.code, code, o)
	}
	if got := o.result.ExitCode(); got != code {
		t.Errorf("%s: the result stands for exit %d, the process ended with %d\n%s", op, got, code, o)
	}
	return o
}

func (o outcome) steps() string {
	var names []string
	for _, s := range o.result.Steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// eachRuntime runs a test with both runtimes.
func eachRuntime(t *testing.T, test func(t *testing.T, runtime tools.Runtime)) {
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) { test(t, runtime) })
	}
}

// everywhere runs a test with both runtimes on all three backends.
func everywhere(t *testing.T, test func(t *testing.T, f *fixture)) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		for name, newBackend := range backends {
			t.Run(name, func(t *testing.T) { test(t, newFixture(t, runtime, newBackend)) })
		}
	})
}
