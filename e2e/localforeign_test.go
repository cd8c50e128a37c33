package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestLocalModuleWithState has a module that was applied by hand, and keeps its state beside itself: no run may begin
// with an empty one. The command that the error names brings the state in, and the next plan has nothing to do.
func TestLocalModuleWithState(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newLocal)
		f.must(t, 0, "apply")
		state := filepath.Join(f.config, "terraform.tfstate")
		if err := os.Rename(filepath.Join(f.dir, ".captf", "state", "config", "state.tfstate"), state); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(f.dir, ".captf")); err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{"apply", "destroy", "drift"} {
			o := f.must(t, result.ExitUsage, op)
			checkText(t, lastLine(o.stderr), []string{state, "a second time", "statesrv push --data .captf/state config " + state})
			if steps := o.steps(); steps != "" {
				t.Errorf("%s ran %q", op, steps)
			}
		}
		push := exec.Command(tools.Build(t, "./cmd/statesrv"), "push", "--data", ".captf/state", "config", state)
		push.Dir = f.dir
		if text, err := push.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if o := f.must(t, 0, "plan"); !strings.Contains(o.stdout, "no changes") {
			t.Errorf("the plan after the push\n%s", o)
		}
	})
}
