package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

// TestKeptStateIsLocked finds a state of an earlier run in its working directory while somebody holds the lock: the
// result and the last line say who that is and where the state is, and a person has to see to it that the directory
// stays. Once the lock is free, the next run in it saves the state.
func TestKeptStateIsLocked(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		kept := filepath.Join(f.dir, "work", "rescued-x.tfstate")
		if err := os.WriteFile(kept, k.state(t), 0o600); err != nil {
			t.Fatal(err)
		}
		k.hold(t, otherID, other)
		for _, wait := range []string{"0", "2"} {
			o := f.must(t, result.ExitPerson, "apply", "--lock-timeout", wait)
			wantLocked(t, o, f, otherID)
			if s := o.result.State; s == nil || s.Saved != result.SavedLost || s.Where != kept || s.Lineage == "" {
				t.Errorf("state = %+v, want it in %s\n%s", s, kept, o)
			}
			checkText(t, lastLine(o.stderr), []string{otherID, other, kept, "--force-unlock"})
			if got := o.steps(); got != "init" {
				t.Errorf("steps %q, want nothing but init", got)
			}
		}
		k.release(t, otherID)
		if o := f.must(t, 0, "apply"); o.steps() != "init state-push apply" {
			t.Errorf("steps %q", o.steps())
		}
		wantGone(t, kept)
	})
}
