package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestKilledChild kills the runtime with a resource in flight, as the kernel does when memory is short: the partial
// result knew the lock already, the last one says what may be there without a state, and the lock is free again. The
// provider is gone as well: it would go on making things. cases.md 14.
func TestKilledChild(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "4s", true)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.await(t, "the partial result has the lock and the resource", func() bool {
			r := l.partial()
			return r != nil && r.Lock.ID != "" && r.Unsaved != nil
		})
		before, id := l.partial(), f.backend.holder(t)
		if before.Lock.ID != id || !before.Partial || before.Succeeded() || before.Unsaved.Resources[0].Address != "probe_file.first" {
			t.Errorf("partial result %+v with lock %+v, the lock is held by %s", before, before.Lock, id)
		}
		l.child(t, "apply").kill(t)
		o := l.finish(t)
		f.wantKilled(t, o, id)
		time.Sleep(time.Until(l.began.Add(o.took + 4*time.Second))) // the provider would have made it by now
		wantGone(t, f.files+"/first")
		remove(t, f.config+"/slow_override.tf")
		f.must(t, 0, "apply", "--lock-timeout", "0")
	})
}

// TestKilledChildOfUnknownGroup kills the runtime while its group cannot be seen to be gone: one process of it has ended,
// but its parent, in a session of its own, never asks for it. The lock stays held, and the result hands its ID down.
func TestKilledChildOfUnknownGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tools.Runtimes(t)[0], newStatesrv)
	f.stub(t, `[ "$1" = apply ] || exec "$REAL" "$@"
sh -c 'true & exec setsid sleep 300' &
exec "$REAL" "$@"
`)
	f.slow(t, "5m", true)
	l := f.start(t, "apply")
	l.await(t, "the lock is known", func() bool { r := l.partial(); return r != nil && r.Lock.ID != "" })
	l.says(t, creatingFirst)
	l.child(t, "apply").kill(t)
	o := l.finish(t)
	id := f.backend.holder(t)
	if lock := o.result.Lock; id == "" || lock.ID != id || lock.Released {
		t.Errorf("lock = %+v, it is held by %q; want it left alone\n%s", lock, id, o)
	}
	remove(t, f.config+"/slow_override.tf")
	f.runtime = tools.Runtimes(t)[0]
	f.must(t, 0, "apply", "--lock-timeout", "0", "--force-unlock", id)
}

// wantKilled is for a run whose child was killed while it made the first file and held this lock.
func (f *fixture) wantKilled(t *testing.T, o outcome, id string) {
	t.Helper()
	if e := o.result.Error; o.code != result.ExitFailed || e.Kind != result.KindStep || e.Reason != result.ReasonKilled || e.Step != "apply" {
		t.Errorf("exit %d, error = %+v; want a killed apply\n%s", o.code, e, o)
	}
	if l := o.result.Lock; l.ID != id || !l.Released || l.Who == "" {
		t.Errorf("lock = %+v, want %s released", l, id)
	}
	if holder := f.backend.holder(t); holder != "" {
		t.Errorf("the lock is still held by %s", holder)
	}
	wantInFlight(t, o, "probe_file.first")
	f.wantState(t)
}

// TestKilledRunner kills the runner itself: what it leaves never reads as success and names what was in flight. Its
// child learns of it, saves the state and releases the lock, and nothing lives on.
func TestKilledRunner(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "2s", true)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.await(t, "the partial result names the resource", func() bool { r := l.partial(); return r != nil && r.Unsaved != nil })
		l.signal(t, syscall.SIGKILL)
		<-l.ended
		r := l.partial()
		if r == nil || !r.Partial || r.Succeeded() || r.ExitCode() != result.ExitRetry || r.Unsaved.Resources[0].Address != "probe_file.first" {
			t.Errorf("the killed runner left %+v", r)
		}
		until(t, "the child and its provider end", func() bool { return len(processesIn(f.dir)) == 0 })
		f.wantState(t, "probe_file.first")
		if id := f.backend.holder(t); id != "" {
			t.Errorf("the lock is still held by %s", id)
		}
		remove(t, f.config+"/slow_override.tf")
		f.must(t, 0, "apply", "--lock-timeout", "5") // the kernel frees the flock of a process some time after its end
		f.wantState(t, both...)
	})
}

// TestKilledBetweenSteps kills the runner after a plan that found no changes, and after one that found some: what is
// left is no "no changes". cases.md 24.
func TestKilledBetweenSteps(t *testing.T) {
	for name, step := range map[string]string{"with changes": "show", "without changes": "plan"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newStatesrv)
			if step == "plan" {
				f.must(t, 0, "apply")
			}
			f.stub(t, `[ "$1" = `+step+` ] || exec "$REAL" "$@"
"$REAL" "$@" >/dev/null
echo '{"@message":"step done","type":"log"}' >&2
sleep 60
`)
			l := f.start(t, "plan", "--plan-key-file", f.planKey(t))
			if step == "plan" {
				l.says(t, "step done")
			} else {
				l.child(t, "show")
			}
			l.signal(t, syscall.SIGKILL)
			<-l.ended
			if r := l.partial(); r == nil || !r.Partial || r.Succeeded() || r.ExitCode() == 0 {
				t.Errorf("the killed runner left %+v", r)
			}
			for _, p := range processesIn(f.dir) {
				p.kill(t) // the stub does not end by itself
			}
		})
	}
}

// TestLadder has a runtime, and what it has started, that no SIGINT reaches: the group is killed in time for a result
// inside the budget. cases.md 19, 26.
func TestLadder(t *testing.T) {
	for _, budget := range []string{"0s", "10s"} {
		t.Run(budget, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newStatesrv)
			f.stub(t, `[ "$1" = apply ] || exec "$REAL" "$@"
trap '' INT TERM
sleep 300 &
setsid sleep 300 &
echo '{"@message":"probe_file.first: Creating...","type":"apply_start","hook":{"resource":{"addr":"probe_file.first"},"action":"create"}}'
while :; do sleep 0.2; done
`)
			l := f.start(t, "apply", "--stop-timeout", budget)
			l.says(t, creatingFirst)
			l.signal(t, syscall.SIGTERM)
			o := l.finish(t)
			if limit, _ := time.ParseDuration(budget); limit > 0 {
				l.insideBudget(t, limit)
			}
			wantInterrupted(t, o, "apply")
			if s := o.result.Steps[1]; s.Signal != "SIGKILL" {
				t.Errorf("last step = %+v, want one that was killed", s)
			}
			wantInFlight(t, o, "probe_file.first")
		})
	}
}

// TestSecondInterrupt has a provider that works longer than there is time: the runtime is pressed to end, and the
// result names what it had to let go.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "5m", true)
		l := f.start(t, "apply", "--stop-timeout", "12s")
		l.says(t, creatingFirst)
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		wantInterrupted(t, o, "apply")
		if n := strings.Count(o.stdout, "Two interrupts received"); n != 1 {
			t.Errorf("the runtime was pressed %d times, want 1\n%s", n, o)
		}
		wantInFlight(t, o, "probe_file.first")
		wantFree(t, f, o)
	})
}

// TestDeadlineAndLock ends a run by its deadline whose state server has stopped answering: the lock that its child
// leaves is in the result. cases.md 13.
func TestDeadlineAndLock(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		f.slow(t, "5m", true)
		l := f.start(t, "apply", "--lock-timeout", "1s", "--deadline", "15s", "--stop-timeout", "8s")
		l.await(t, "the lock is known", func() bool { r := l.partial(); return r != nil && r.Lock.ID != "" })
		h.harms(when(everything, hangs))
		o := l.finish(t)
		h.harms(nil)
		wantInterrupted(t, o, "apply")
		if e := o.result.Error; e.Reason != result.ReasonDeadline {
			t.Errorf("error = %+v, want reason deadline", e)
		}
		if id := f.backend.holder(t); id == "" || o.result.Lock.ID != id || o.result.Lock.Released {
			t.Errorf("lock = %+v, it is held by %q\n%s", o.result.Lock, id, o)
		}
		wantInFlight(t, o, "probe_file.first")
		remove(t, f.config+"/slow_override.tf")
		f.must(t, 0, "apply", "--lock-timeout", "0", "--force-unlock", o.result.Lock.ID)
	})
}
