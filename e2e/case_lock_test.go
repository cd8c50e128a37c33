package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// onLookable runs a test with both runtimes where the runner can look at the lock: a cluster and a statesrv.
func onLookable(t *testing.T, test func(t *testing.T, f *fixture)) {
	for name, newBackend := range map[string]func(*testing.T, *fixture) backend{"statesrv": newStatesrv, "kubernetes": backends["kubernetes"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) { test(t, newFixture(t, runtime, newBackend)) })
		})
	}
}

// TestTwoAppliesAtOnce starts an apply while another one works: it gives up when it must not wait, and works after it
// when it may. Nobody is ever told to do without the lock. cases.md 10.
func TestTwoAppliesAtOnce(t *testing.T) {
	onLookable(t, func(t *testing.T, f *fixture) {
		f.must(t, 0, "refresh") // makes the state
		calls := f.record(t)
		f.slow(t, "12s", true)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		second := *f
		second.dir = t.TempDir()
		o := second.must(t, result.ExitRetry, "apply", "--lock-timeout", "0")
		if e := o.result.Error; e.Reason != result.ReasonLocked || o.result.Lock.ID == "" {
			t.Errorf("error = %+v, lock = %+v; want locked by somebody\n%s", e, o.result.Lock, o)
		}
		o = second.must(t, 0, "apply", "--lock-timeout", "5m")
		wantChanges(t, o, result.Changes{})
		if o.result.Lock.WaitedSeconds == 0 {
			t.Errorf("lock = %+v, want a wait", o.result.Lock)
		}
		if o := l.finish(t); o.code != 0 {
			t.Errorf("the first run ended with %d\n%s", o.code, o)
		}
		for _, c := range calls.calls(t) {
			if slices.ContainsFunc(c.args, func(arg string) bool { return strings.HasPrefix(arg, "-lock=") }) {
				t.Errorf("%q says something about the use of the lock", c.args)
			}
		}
	})
}

// TestStalePlan applies the same saved plan twice, which a runtime refuses the second time: the lock is free
// afterwards, and the next run works. cases.md 12.
func TestStalePlan(t *testing.T) {
	onLookable(t, func(t *testing.T, f *fixture) {
		real := f.runtime
		f.stub(t, `[ "$1" = apply ] && "$REAL" "$@" >/dev/null
exec "$REAL" "$@"
`)
		o := f.must(t, result.ExitFailed, "apply", "--guard-deletes", "--lock-timeout", "0")
		if e := o.result.Error; e.Reason != result.ReasonConfig || !strings.Contains(e.Tail, "Saved plan is stale") {
			t.Errorf("error = %+v, want a stale plan\n%s", e, o)
		}
		wantFree(t, f, o)
		f.runtime = real
		f.wantNothingToDo(t)
	})
}
