package e2e

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// send does to a run what is to be told from one SIGINT by nobody but the runner.
type send func(t *testing.T, l *live)

func one(s syscall.Signal) send { return func(t *testing.T, l *live) { l.signal(t, s) } }

// volley sends 20 signals in one second.
func volley(t *testing.T, l *live) {
	for i := range 20 {
		l.signal(t, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[i%2])
		time.Sleep(50 * time.Millisecond)
	}
}

// TestSignalDrains sends a run every kind of signal while a provider works that finishes what it does: the child gets
// exactly one SIGINT, saves its state and releases its lock, and the runner ends after it. cases.md 15, 16, 18, 25.
func TestSignalDrains(t *testing.T) {
	for name, send := range map[string]send{
		"SIGTERM": one(syscall.SIGTERM), "SIGINT": one(syscall.SIGINT), "SIGHUP": one(syscall.SIGHUP), "20 signals in a second": volley,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newStatesrv)
				f.slow(t, "2500ms", true)
				l := f.start(t, "apply")
				l.says(t, creatingFirst)
				send(t, l)
				f.wantDrained(t, l.finish(t))
			})
		})
	}
}

// TestSignalLongDrain has a provider that needs longer than any fixed wait for a child that was interrupted: the runner
// waits as long as its budget allows. cases.md 15, K.
func TestSignalLongDrain(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "65s", true)
		l := f.start(t, "apply", "--stop-timeout", "150s")
		l.says(t, creatingFirst)
		l.signal(t, syscall.SIGTERM)
		f.wantDrained(t, l.finish(t))
	})
}

// wantDrained is for a run that was interrupted while it made the first file.
func (f *fixture) wantDrained(t *testing.T, o outcome) {
	t.Helper()
	wantInterrupted(t, o, "apply")
	if n := strings.Count(o.stdout, "Interrupt received."); n != 1 || strings.Contains(o.stdout, "Two interrupts received") {
		t.Errorf("the runtime saw %d interrupts, want 1\n%s", n, o)
	}
	if s := o.result.Steps[len(o.result.Steps)-1]; s.Exit != 1 || s.Signal != "" {
		t.Errorf("last step = %+v, want the runtime's own end", s)
	}
	f.wantState(t, "probe_file.first")
	wantFile(t, f.files+"/first", "one")
	wantGone(t, f.files+"/second")
	wantFree(t, f, o)
	wantInFlight(t, o)
}

// TestSignalFromTerminal presses Ctrl-C on a terminal: the kernel sends SIGINT to the whole foreground group. The
// child must not get it twice, once from there and once from the runner.
func TestSignalFromTerminal(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "2500ms", true)
		keyboard, screen := openTerminal(t)
		cmd := f.command(context.Background(), "apply")
		cmd.Stdin = screen
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		l := f.startCommand(t, cmd)
		l.says(t, creatingFirst)
		// Two signals at once would become one: the runner, which sends its own, has to be late.
		l.stopped(t, func() {
			if _, err := keyboard.WriteString("\x03"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
		})
		f.wantDrained(t, l.finish(t))
	})
}

// openTerminal makes a pseudo terminal: what is written to one end is typed at the other.
func openTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	return keyboard, screen
}

// TestSignalIsObeyed has a provider that stops when it is asked to: what it was making is not made, and the rest is
// saved. cases.md 16.
func TestSignalIsObeyed(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		reached, _ := f.hold(t, "before-create-second")
		l := f.start(t, "apply")
		// A provider forgets a request to stop that comes before the call it is for, which the runtime tells of first.
		reached(l)
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		wantInterrupted(t, o, "apply")
		f.wantState(t, "probe_file.first")
		wantFree(t, f, o)
		wantInFlight(t, o)
	})
}

// TestSignalAndProviderError has a provider fail by itself while a run drains: that is a failure of the step, which
// the next run would meet again.
func TestSignalAndProviderError(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \"2s\"\n  stubborn = true\n  fail = \"create\"\n  fail_text = \"no capacity\"\n}\n")
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		if e := o.result.Error; o.code != result.ExitFailed || e.Kind != result.KindStep || e.Reason != result.ReasonProvider || !strings.Contains(e.Tail, "no capacity") {
			t.Errorf("exit %d, error = %+v; want the provider's\n%s", o.code, e, o)
		}
		wantFree(t, f, o)
	})
}

// deaf is a stub that does not hear the signal in one step, and then does it with the real runtime.
func deaf(step string) string {
	return `[ "$1" = ` + step + ` ] || exec "$REAL" "$@"
trap '' INT
echo deaf
sleep 1
"$REAL" "$@"
`
}

// TestSignalBeforeSuccess has a step succeed after the signal: no other step follows. What was the last step of a
// run has done all there was to do.
func TestSignalBeforeSuccess(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.stub(t, deaf("plan"))
		l := f.start(t, "apply", "--guard-deletes")
		l.says(t, "deaf")
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		wantInterrupted(t, o, "show-json")
		if got := o.steps(); got != "init plan" {
			t.Errorf("steps %q, want none after the plan", got)
		}
		f.wantState(t)

		f.runtime = runtime
		f.stub(t, deaf("apply"))
		l = f.start(t, "apply")
		l.says(t, "deaf")
		l.signal(t, syscall.SIGTERM)
		if o := l.finish(t); o.code != 0 || o.result.Error != nil || o.result.Changes == nil || o.result.Changes.Add != 2 {
			t.Errorf("exit %d; want the success of the last step\n%s", o.code, o)
		}
		f.wantState(t, both...)
	})
}

// TestSignalAndSecondRun has a second pod start while the first one is in its grace period: it finds the state
// locked, and what the first one saves survives. cases.md 20.
func TestSignalAndSecondRun(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "10s", true)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.signal(t, syscall.SIGTERM)
		second := f.command(context.Background(), "destroy", "--lock-timeout", "0", "--workdir", f.dir+"/work2", "--result", f.dir+"/second.json")
		if err := second.Run(); second.ProcessState.ExitCode() != result.ExitRetry {
			t.Errorf("the second run ended with %v, want exit %d", err, result.ExitRetry)
		}
		var o outcome
		o.read(t, f.dir+"/second.json")
		if o.result == nil || o.result.Error == nil || o.result.Error.Reason != result.ReasonLocked {
			t.Errorf("the second run was not locked out: %s", o.raw)
		}
		f.wantDrained(t, l.finish(t))
	})
}
