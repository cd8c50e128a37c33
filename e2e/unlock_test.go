package e2e

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

const (
	staleID = "0b5f0c3e-1111-2222-3333-444444444444" // the lock that is handed down
	otherID = "77777777-5555-6666-7777-888888888888"
	other   = "runner@other-pod"
)

// TestForceUnlock hands down a lock that is still held, that is gone, and that another holder took since.
// cases.md 3, 47.
func TestForceUnlock(t *testing.T) {
	everywhere(t, testForceUnlock)
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Run("statesrv", func(t *testing.T) { testForceUnlock(t, newFixture(t, runtime, newStatesrv)) })
	})
}

func testForceUnlock(t *testing.T, f *fixture) {
	f.must(t, 0, "apply")
	calls := f.record(t)

	t.Run("already unlocked", func(t *testing.T) {
		o := f.must(t, 0, "plan", "--force-unlock", staleID, "--lock-timeout", "0", "--plan-key-file", f.planKey(t))
		want := result.OutcomeAlreadyUnlocked
		if f.onServer() {
			want = result.OutcomeReleased // all that is known: both runtimes say so
		}
		wantUnlock(t, o, want)
	})
	t.Run("released", func(t *testing.T) {
		calls.calls(t)
		f.backend.hold(t, staleID, "runner@gone")
		if !f.canForceUnlock() {
			o := f.must(t, result.ExitRetry, "refresh", "--force-unlock", staleID, "--lock-timeout", "0")
			// The lock is the one that was handed down: it was not another holder that was in the way.
			wantUnlock(t, o, result.OutcomeUnsupported)
			wantLocked(t, o, f, staleID)
			f.backend.release(t, staleID)
			return
		}
		o := f.must(t, 0, "refresh", "--force-unlock", staleID, "--lock-timeout", "0")
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)
		if got, want := steps(calls.calls(t)), f.unlockSteps("init", "force-unlock", "apply"); got != want {
			t.Errorf("commands %q, want %q: nothing may come between init and force-unlock", got, want)
		}
	})
	t.Run("held by another", func(t *testing.T) {
		calls.calls(t)
		f.backend.hold(t, otherID, other)
		o := f.must(t, result.ExitRetry, "apply", "--force-unlock", staleID, "--lock-timeout", "0")
		wantUnlock(t, o, result.OutcomeHeldByOther)
		wantLocked(t, o, f, otherID)
		if id := f.backend.holder(t); id != otherID {
			t.Errorf("the lock of another holder, %s, is now %q", otherID, id)
		}
		if got := steps(calls.calls(t)); !f.onServer() && got != "init" && got != "init apply" {
			t.Errorf("commands %q: the lock can be seen to be another's, so nothing needs to try", got)
		}
	})
	t.Run("held by another for a while", func(t *testing.T) {
		o := f.mustWait(t, otherID, "destroy", "--force-unlock", staleID, "--lock-timeout", "60")
		wantUnlock(t, o, result.OutcomeHeldByOther)
		// Where the lock cannot be looked at, a refused unlock does not tell whose it is.
		if l := o.result.Lock; l.WaitedSeconds == 0 || l.ID != otherID && !f.onServer() {
			t.Errorf("lock = %+v, want a wait for %s", l, otherID)
		}
		if id := f.backend.holder(t); id != "" {
			t.Errorf("lock %s is still held", id)
		}
	})
}

// onServer is true where only the runtime's text tells what a force-unlock did.
func (f *fixture) onServer() bool {
	_, ok := f.backend.(*served)
	return ok && !f.local()
}

func (f *fixture) planKey(t *testing.T) string {
	t.Helper()
	path := f.dir + "/plan.key"
	overwrite(t, path, strings.Repeat("k", 32))
	return path
}

func wantUnlock(t *testing.T, o outcome, want result.Outcome) {
	t.Helper()
	wantUnlockOf(t, o, staleID, want)
}

func wantUnlockOf(t *testing.T, o outcome, id string, want result.Outcome) {
	t.Helper()
	u := o.result.Lock.ForceUnlock
	if u == nil || u.ID != id || u.Outcome != want {
		t.Errorf("forceUnlock = %+v, want %s for %s\n%s", u, want, id, o)
	}
}

// wantFree is for a run after which nobody holds the lock.
func wantFree(t *testing.T, f *fixture, o outcome) {
	t.Helper()
	if l := o.result.Lock; l.ID+l.Who+l.Operation+l.Created != "" {
		t.Errorf("lock = %+v, want no holder", l)
	}
	if id := f.backend.holder(t); id != "" {
		t.Errorf("lock %s is still held", id)
	}
}

// wantLocked is for a run that gave up waiting for the lock of another.
func wantLocked(t *testing.T, o outcome, f *fixture, id string) {
	t.Helper()
	e, l := o.result.Error, o.result.Lock
	if e == nil || e.Kind != result.KindStep || e.Reason != result.ReasonLocked {
		t.Fatalf("error = %+v, want locked\n%s", e, o)
	}
	if l.ID != id {
		t.Errorf("lock = %+v, want holder %s\n%s", l, id, o)
	}
	if f.onServer() && f.runtime.Name == "terraform" {
		// Terraform prints its own lock in place of the holder's, except for the ID.
		if l.Who+l.Operation+l.Created != "" {
			t.Errorf("lock = %+v, want only an ID: the rest is that of the one who asked", l)
		}
		return
	}
	if !strings.HasPrefix(l.Who, "runner@") || l.Operation != "OperationTypeApply" || !strings.HasPrefix(l.Created, "2026-01-02") {
		t.Errorf("lock = %+v, want Who, Operation and Created of the holder\n%s", l, o)
	}
}

// onKubernetes runs a test with both runtimes on the API server.
func onKubernetes(t *testing.T, test func(t *testing.T, f *fixture, k *kubernetes)) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, backends["kubernetes"])
		test(t, f, f.backend.(*kubernetes))
	})
}
