package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// creatingSecond is what a run prints when the second file is in flight, and the first one is there.
const creatingSecond = "probe_file.second[0]: Creating..."

// slowSecond makes the second file take a while, stubbornly: the first one is there then, and in no saved state.
func (f *fixture) slowSecond(t *testing.T, delay string) {
	t.Helper()
	f.write(t, "slow_override.tf", "resource \"probe_file\" \"second\" {\n  delay = \""+delay+"\"\n  stubborn = true\n}\n")
}

// wrapped puts a wrapper in place of the runtime that tells of the end of an apply by a code of its own.
func (f *fixture) wrapped(t *testing.T, code string) {
	f.stub(t, `[ "$1" = apply ] || exec "$REAL" "$@"
"$REAL" "$@" &
wait $!
exit `+code+"\n")
}

// TestCrashedRuntime has a runtime end without saving its state: by a fatal error of its own, or behind a wrapper that
// hides the signal. What it had finished is named, and a person is asked before another run makes it again.
func TestCrashedRuntime(t *testing.T) {
	kill := func(t *testing.T, l *live) {
		for _, p := range childrenOf(l.child(t, "apply").pid) {
			p.kill(t)
		}
	}
	quit := func(t *testing.T, l *live) {
		if err := syscall.Kill(l.child(t, "apply").pid, syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		wrapper string // the code that it ends with
		hit     func(*testing.T, *live)
		reason  result.Reason
	}{
		"fatal error":        {"", quit, result.ReasonCrashed},
		"killed, code 137":   {"137", kill, result.ReasonKilled},
		"killed, code 1":     {"1", kill, result.ReasonCrashed},
		"killed, seems done": {"0", kill, result.ReasonCrashed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newStatesrv)
				f.slowSecond(t, "5m")
				if row.wrapper != "" {
					f.wrapped(t, row.wrapper)
				}
				l := f.start(t, "apply")
				l.says(t, creatingSecond)
				row.hit(t, l)
				o := l.finish(t)
				if e := o.result.Error; o.code != result.ExitPerson || e == nil || e.Kind != result.KindStep || e.Reason != row.reason {
					t.Errorf("exit %d, error = %+v; want exit %d, %s\n%s", o.code, e, result.ExitPerson, row.reason, o)
				}
				if s := o.result.State; s == nil || s.Saved != result.SavedLost {
					t.Errorf("state = %+v, want it lost\n%s", s, o)
				}
				wantInFlight(t, o, bothInstances...)
				if last, want := o.lastLine(), "create probe_file.first (ID "+f.files+"/first)"; !strings.Contains(last, want) {
					t.Errorf("the last line is %q, want it to name %s", last, want)
				}
				if id := f.backend.holder(t); id != "" {
					t.Errorf("lock %s is still held", id)
				}
			})
		})
	}
}

// TestPressedAfterSave has a runtime that saves what is done when it is told to stop, and is pressed to end later: what
// that state has is not said to be in none.
func TestPressedAfterSave(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slowSecond(t, "5m")
		l := f.start(t, "apply", "--stop-timeout", "12s")
		l.says(t, creatingSecond)
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		wantInterrupted(t, o, "apply")
		f.wantState(t, "probe_file.first")
		wantInFlight(t, o, "probe_file.second[0]")
		wantFree(t, f, o)
	})
}
