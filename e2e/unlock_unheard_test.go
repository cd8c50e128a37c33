package e2e

import (
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestUnheardLock loses the answer of an API server that has given the lock: the runtime knows nothing of its own
// lock, and the run says that it may be held, instead of waiting for it as for somebody else's.
func TestUnheardLock(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		write int32 // of the Lease: init makes it and gives it back, apply takes it
		step  string
	}{"of the first state": {1, "init"}, "of an apply": {3, "apply"}} {
		t.Run(name, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f, k, h := faultyCluster(t, runtime)
				h.harms(nth(row.write, writesLease, unheard))
				o := f.must(t, result.ExitRetry, "apply")
				if e := o.result.Error; e.Reason != result.ReasonBackend || e.Step != row.step {
					t.Errorf("error = %+v, want that the backend failed in %s\n%s", e, row.step, o)
				}
				id := k.holder(t)
				if l := o.result.Lock; id == "" || l.ID != id || !l.MaybeHeld || l.WaitedSeconds > 5 {
					t.Errorf("lock = %+v, want that %q may be its own\n%s", l, id, o)
				}
				f.must(t, 0, "apply", "--force-unlock", id)
				f.wantState(t, both...)
			})
		})
	}
}

// TestUnansweredLock has a state server that gives the lock and never says so. The runtime is stopped or killed before
// it could show that it has the lock, and the run says that it may be held.
func TestUnansweredLock(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *live){
		"stopped": func(t *testing.T, l *live) { l.signal(t, syscall.SIGTERM) },
		"killed":  func(t *testing.T, l *live) { l.child(t, "apply").kill(t) },
	} {
		t.Run(name, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f, h := faulty(t, runtime)
				h.harms(nth(1, takesLock, unanswered))
				l := f.start(t, "apply", "--stop-timeout", stopBudget.String())
				l.await(t, "the lock is taken", func() bool { return f.backend.holder(t) != "" })
				end(t, l)
				o := l.finish(t)
				id := f.backend.holder(t)
				if lock := o.result.Lock; id == "" || lock.ID != id || !lock.MaybeHeld {
					t.Errorf("lock = %+v, want that %q may be its own\n%s", lock, id, o)
				}
				f.must(t, 0, "apply", "--force-unlock", id)
				f.wantState(t, both...)
			})
		})
	}
}
