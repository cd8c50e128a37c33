package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// TestLockWait holds the lock for a while, or for ever. cases.md 10, 20, 55.
func TestLockWait(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, f *fixture) {
		t.Parallel()
		f.must(t, 0, "apply")
		f.backend.hold(t, otherID, other)
		before := f.backend.state(t)

		t.Run("does not wait", func(t *testing.T) {
			o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "0")
			wantLocked(t, o, f, otherID)
			wantWaited(t, o, 0, 2*time.Second)
		})
		t.Run("waits for all of the budget", func(t *testing.T) {
			// Two steps want the lock: what one waited the next may not wait again.
			o := f.must(t, result.ExitRetry, "drift", "--lock-timeout", "5s")
			wantLocked(t, o, f, otherID)
			wantWaited(t, o, 4*time.Second, 5*time.Second+pollingStep)
		})
		t.Run("is stopped", func(t *testing.T) {
			o := f.terminated(t, "3", "destroy", "--lock-timeout", "5m")
			if e := o.result.Error; o.code != result.ExitRetry || e == nil || e.Kind != result.KindInterrupted || e.Step != "destroy" {
				t.Errorf("exit %d, error = %+v, want an interrupted wait\n%s", o.code, e, o)
			}
		})
		if string(f.backend.state(t)) != string(before) || f.backend.holder(t) != otherID {
			t.Error("the state or the lock of the other run was changed")
		}
		t.Run("gets the lock when it is free", func(t *testing.T) {
			o := f.mustWait(t, otherID, "refresh", "--lock-timeout", "5m", "--deadline", "10m")
			wantFree(t, f, o)
			wantWaited(t, o, time.Second, o.took)
		})
	})
}

// mustWait runs an operation that has to succeed, and gives the lock back once the run has waited for it for two seconds:
// in -lock-timeout only whole ones count.
func (f *fixture) mustWait(t *testing.T, id, op string, flags ...string) outcome {
	t.Helper()
	l := f.start(t, op, flags...)
	l.await(t, "it waits for the lock", func() bool {
		return strings.Contains(l.stderr.String(), "waiting for the lock") || strings.Contains(l.stdout.String(), "Acquiring state lock")
	})
	time.Sleep(2 * time.Second)
	f.backend.release(t, id)
	o := l.finish(t)
	if o.code != 0 {
		t.Fatalf("%s: exit %d, want 0\n%s", op, o.code, o)
	}
	return o
}

// pollingStep is how late a runtime may see that a lock is free.
const pollingStep = 16 * time.Second

// wantWaited bounds the sum of the waits.
func wantWaited(t *testing.T, o outcome, least, most time.Duration) {
	t.Helper()
	if got := time.Duration(o.result.Lock.WaitedSeconds); got < least || got > most {
		t.Errorf("waited %s, want %s to %s\n%s", got, least, most, o)
	}
}

// terminated runs an operation that gets two SIGTERMs after some seconds, one right after the other.
func (f *fixture) terminated(t *testing.T, seconds, op string, flags ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), f.timeout)
	defer cancel()
	run := f.command(ctx, op, flags...)
	cmd := exec.CommandContext(ctx, "timeout", append([]string{"--preserve-status", "--signal=TERM", seconds}, run.Args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = run.Dir, run.Env, run.WaitDelay
	return f.finish(t, ctx, cmd)
}

// TestSignalsToTheEnd sends one SIGTERM after the other until the runner is gone: none of them ends it with a code
// that says nothing. cases.md 25.
func TestSignalsToTheEnd(t *testing.T) {
	f := newFixture(t, tools.Runtimes(t)[0], backends["local"])
	f.must(t, 0, "apply")
	f.backend.hold(t, otherID, other)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), f.timeout)
		run := f.command(ctx, "refresh", "--lock-timeout", "5m")
		volley := exec.CommandContext(ctx, "sh", append([]string{"-c", `"$@" & pid=$!
sleep 1
while kill -TERM $pid 2>&1; do :; done
wait $pid`, "sh"}, run.Args...)...)
		volley.Dir, volley.Env, volley.WaitDelay = run.Dir, run.Env, run.WaitDelay
		if o := f.finish(t, ctx, volley); o.code != result.ExitRetry {
			t.Errorf("exit %d, want %d", o.code, result.ExitRetry)
		}
		cancel()
	}
}

// TestInitWaits is the lock without a state that is freed in time. Neither runtime waits in init, whatever
// its -lock-timeout says. cases.md 58.
func TestInitWaits(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		t.Parallel()
		calls := f.record(t)
		k.hold(t, otherID, other)
		o := f.mustWait(t, otherID, "apply", "--lock-timeout", "60")
		wantFree(t, f, o)
		wantWaited(t, o, time.Second, o.took)
		if got := find(t, calls.calls(t), "init").value("-lock-timeout"); got != "60s" {
			t.Errorf("-lock-timeout of init is %s, want 60s", got)
		}
		if s := o.result.Steps[0]; s.Name != "init" || s.Attempts < 2 {
			t.Errorf("first step = %+v, want several attempts of init", s)
		}
	})
}

// TestLockWithoutInfo is a Lease that somebody holds and nobody describes: a runtime then gives up at once,
// and the runner waits in its place, with and without access to the Lease.
func TestLockWithoutInfo(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		t.Parallel()
		f.must(t, 0, "apply")
		k.hold(t, otherID, other)
		k.edit(t, func(lease *coordinationv1.Lease) { delete(lease.Annotations, lock.InfoAnnotation) })
		o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "3")
		wantLockedBy(t, o, otherID)
		f.settingsInRoot(t, k)
		o = f.must(t, result.ExitRetry, "apply", "--lock-timeout", "3")
		wantLockedBy(t, o, "")
		if s := o.result.Steps[len(o.result.Steps)-1]; s.Attempts < 2 {
			t.Errorf("last step = %+v, want several attempts", s)
		}
	})
}

// wantLockedBy is for a wait of 3 s in which no more than an ID came to light.
func wantLockedBy(t *testing.T, o outcome, id string) {
	t.Helper()
	if e := o.result.Error; e.Reason != result.ReasonLocked {
		t.Errorf("error = %+v, want locked\n%s", e, o)
	}
	if l := o.result.Lock; l.ID != id || l.Who != "" {
		t.Errorf("lock = %+v, want the ID %q and nothing else\n%s", l, id, o)
	}
	wantWaited(t, o, 2*time.Second, 3*time.Second+pollingStep)
}

// TestLockInfoIsPrintable has a holder whose name would colour the terminal of whoever reads the log. cases.md 64.
func TestLockInfoIsPrintable(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		f.must(t, 0, "apply")
		f.backend.hold(t, otherID, "runner@\x1b[31mred\x1b[0m")
		o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "0")
		if o.result.Error.Reason != result.ReasonLocked || o.result.Lock.ID != otherID {
			t.Errorf("want locked\n%s", o)
		}
		if strings.ContainsRune(o.stdout+o.stderr+o.raw+o.result.Lock.Who+o.result.Error.Tail, '\x1b') {
			t.Errorf("an escape character is printed: %q", o.String())
		}
	})
}
