package tools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// workdir is a folder with a module that one runtime works on.
type workdir struct {
	dir     string // has main.tf, the state, and the files that the provider makes
	runtime Runtime
}

// eachRuntime runs a test in an initialised workdir of each runtime.
func eachRuntime(t *testing.T, config string, test func(*testing.T, workdir)) {
	for _, runtime := range Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			w := workdir{dir: t.TempDir(), runtime: runtime}
			w.write(t, "cli.tfrc", fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n"+
				"  filesystem_mirror {\n    path = %q\n    include = [\"*/*/*\"]\n  }\n}\n", Mirror(t)))
			w.configure(t, config)
			w.must(t, "init", "-input=false")
			test(t, w)
		})
	}
}

// configure replaces the module's resources. %DIR% becomes the workdir.
func (w workdir) configure(t *testing.T, config string) {
	t.Helper()
	w.write(t, "main.tf", `terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
`+strings.ReplaceAll(config, "%DIR%", w.dir))
}

func (w workdir) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.runtime.Path, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + filepath.Join(w.dir, "cli.tfrc"),
		"PROBE_LEDGER=" + filepath.Join(w.dir, "ledger"), "LEAKED=through", "TF_CLI_ARGS=-no-color",
	}
	return cmd
}

// must runs the runtime and returns its output.
func (w workdir) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", w.runtime.Name, args, err, out)
	}
	return string(out)
}

// refused runs the runtime, which has to fail, and returns its output on one line: a long line of
// an error is wrapped.
func (w workdir) refused(t *testing.T, args ...string) string {
	t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err == nil {
		t.Fatalf("%s %q: it worked\n%s", w.runtime.Name, args, out)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(string(out), "│", "")), " ")
}

// output decodes an output of the state into value.
func (w workdir) output(t *testing.T, name string, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.must(t, "output", "-json", name)), value); err != nil {
		t.Fatal(err)
	}
}

// resources returns the addresses in the state.
func (w workdir) resources(t *testing.T) []string {
	t.Helper()
	return strings.Fields(w.must(t, "state", "list"))
}

// ledger returns what was made, changed and removed, with paths relative to the workdir.
func (w workdir) ledger(t *testing.T) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(w.read(t, "ledger")), "\n")
	for i := range lines {
		lines[i] = strings.Replace(lines[i], w.dir+"/", "", 1)
	}
	return lines
}

func (w workdir) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (w workdir) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// waitFor reads until all of these have been printed, in any order.
func waitFor(t *testing.T, out io.Reader, texts ...string) {
	t.Helper()
	var seen strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen.String(), text) }) {
			return
		}
	}
	t.Fatalf("the output ended before all of %q was printed:\n%s", texts, seen.String())
}
