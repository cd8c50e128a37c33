package e2e

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestRescueInsideBudget stops a run whose state server answers no more while the runner tries to save the state: the
// state is in a safe place, and the result written, before the budget is used up.
func TestRescueInsideBudget(t *testing.T) {
	const budget = 10 * time.Second
	rows := []struct {
		name   string
		moment string // when the signal comes
		later  fate   // of the writes after the first one
	}{
		{"pushes hang", "rescuing it", hangs},
		{"pushes fail", "rescuing it", fails},
		{"the signal comes first", creatingFirst, fails},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f, h := faulty(t, runtime)
				rescue := t.TempDir()
				h.harms(func(r *http.Request) fate {
					switch {
					case !writesState(r):
						return passes
					case !exists(f.errored()):
						return fails
					}
					return row.later
				})
				f.slow(t, "1s", true)
				l := f.start(t, "apply", append(noRetry, "--stop-timeout", budget.String(), "--rescue-dir", rescue)...)
				l.says(t, row.moment)
				l.signal(t, syscall.SIGTERM)
				o := l.finish(t)
				l.insideBudget(t, budget)
				wantSaved(t, o, result.SavedRescueDir)
				if got := parseState(t, onlyFile(t, rescue)).addresses(); len(got) == 0 {
					t.Error("the rescued state is empty")
				}
				if o.code != result.ExitPerson {
					t.Errorf("exit %d, want %d", o.code, result.ExitPerson)
				}
			})
		})
	}
}

// TestRescueSetInsideBudget is the same where neither the state nor a rescue set can be stored in the cluster.
func TestRescueSetInsideBudget(t *testing.T) {
	const budget = 12 * time.Second
	t.Parallel()
	f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
	rescue := t.TempDir()
	f.must(t, 0, "refresh")
	h.harms(func(r *http.Request) fate {
		switch {
		case k.writesSecret(r) && !exists(f.errored()):
			return fails
		case about("secrets")(r) && exists(f.errored()):
			return hangs
		}
		return passes
	})
	l := f.start(t, "apply", "--stop-timeout", budget.String(), "--rescue-dir", rescue)
	l.says(t, "rescuing it")
	l.signal(t, syscall.SIGTERM)
	o := l.finish(t)
	l.insideBudget(t, budget)
	wantSaved(t, o, result.SavedRescueDir)
	f.wantRescued(t, o, onlyFile(t, rescue))
}
