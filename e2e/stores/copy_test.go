package stores

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestCopy brings a real client's state from a directory to every store and from there
// to another directory. The client goes on at the new place, and at the end all of
// the history is there.
func TestCopy(t *testing.T) {
	for name, make := range places {
		if name == "dir" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := make(t)
			for _, runtime := range tools.Runtimes(t) {
				testCopy(t, runtime, p)
				p.store += "-" + runtime.Name // a fresh one for the next
			}
		})
	}
}

func testCopy(t *testing.T, runtime tools.Runtime, p place) {
	first, last := "dir:"+t.TempDir(), "dir:"+t.TempDir()
	old := startServer(t, first)
	r := newRoot(t, runtime, old+"/states/s")
	r.ok(t, apply("one")...)
	run(t, p, "copy", first, p.store)

	next := startServer(t, p.store, p.env[0]...)
	for i, pair := range r.env {
		r.env[i] = strings.Replace(pair, old, next, 1)
	}
	r.ok(t, "init", "-reconfigure", "-no-color")
	r.ok(t, apply("two")...)
	if out := r.ok(t, "plan", "-no-color", "-detailed-exitcode", "-var=text=two"); !strings.Contains(out, "No changes") {
		t.Errorf("plan after the copy: %s", out)
	}
	run(t, p, "copy", p.store, last)
	history := run(t, p, "history", "--data", strings.TrimPrefix(last, "dir:"), "s")
	if n := strings.Count(history, "\n"); n < 3 {
		t.Errorf("the history has %d lines, want a heading and at least 2 versions:\n%s", n, history)
	}
	for _, number := range []string{"1", "2"} {
		run(t, p, "pull", "--data", strings.TrimPrefix(last, "dir:"), "s", "--version", number)
	}
}

// run runs a command to its end and returns what it prints.
func run(t *testing.T, p place, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tools.Build(t, "./cmd/statesrv"), args...)
	cmd.Env = append(append([]string{"HOME=" + os.TempDir()}, credentials...), p.env[0]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("statesrv %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
