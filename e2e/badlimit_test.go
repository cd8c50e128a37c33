package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestFewOpenFiles gives a run so few open files that it cannot go on, at each place where it opens one: it says that
// this is the reason, and how to have more. With fewer than eight the Go runtime itself does not start. A state that an
// earlier run could not save lies in the working directory: it stays there until it is pushed.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	for name, newBackend := range map[string]func(*testing.T, *fixture) backend{
		"local": newLocal, "http": newHTTP, "statesrv": newStatesrv, "kubernetes": backends["kubernetes"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newBackend)
			serial := f.leaveUnsaved(t)
			for limit := 8; ; limit++ {
				o := f.limited(t, limit, "apply")
				pushed := parseState(t, f.backend.state(t)).Serial >= serial
				if !pushed && !f.hasUnsaved(t) {
					t.Fatalf("%d open files: the state that was not saved is gone\n%s", limit, o)
				}
				if o.code == result.ExitDone {
					if limit < 20 || !pushed || f.hasUnsaved(t) {
						t.Errorf("%d open files: the run is done; the state is pushed: %v\n%s", limit, pushed, o)
					}
					return
				}
				if last := o.lastLine(); !strings.Contains(last, "too many open files: raise the limit of open files") {
					t.Errorf("%d open files: exit %d, the last line is %q\n%s", limit, o.code, last, o)
				}
			}
		})
	}
}

// limited runs one operation with at most so many open files.
func (f *fixture) limited(t *testing.T, limit int, op string) outcome {
	t.Helper()
	cmd := f.command(t.Context(), op)
	cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, limit), "sh"}, cmd.Args...)
	cmd.Path, cmd.Err = exec.LookPath("sh")
	return f.startCommand(t, cmd).finish(t)
}

// leaveUnsaved makes the resources, and leaves their state a second time in the working directory, as one with a later
// serial that could not be saved.
func (f *fixture) leaveUnsaved(t *testing.T) (serial uint64) {
	t.Helper()
	f.must(t, result.ExitDone, "apply")
	var fields map[string]any
	if err := json.Unmarshal(f.backend.state(t), &fields); err != nil {
		t.Fatal(err)
	}
	serial = uint64(fields["serial"].(float64)) + 7
	fields["serial"] = serial
	state, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "work", "root", "errored.tfstate"), state, 0o600); err != nil {
		t.Fatal(err)
	}
	return serial
}

// hasUnsaved tells whether such a state still lies in the working directory.
func (f *fixture) hasUnsaved(t *testing.T) bool {
	t.Helper()
	found := exists(filepath.Join(f.dir, "work", "root", "errored.tfstate"))
	entries, err := os.ReadDir(filepath.Join(f.dir, "work"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		found = found || strings.HasPrefix(entry.Name(), "errored-")
	}
	return found
}
