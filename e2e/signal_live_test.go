package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/transcript"
	"github.com/captf/captf-runner/runner/result"
)

// live is a run that is going on, for tests that do something to it.
type live struct {
	f              *fixture
	cmd            *exec.Cmd
	stdout, stderr *transcript.Transcript
	began          time.Time
	signalled      time.Time
	ended          chan struct{}
}

// start starts a run. However the test ends, nothing of it is left.
func (f *fixture) start(t *testing.T, op string, flags ...string) *live {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	t.Cleanup(cancel)
	return f.startCommand(t, f.command(ctx, op, flags...))
}

// startCommand starts a run whose command was changed. Output that it sends elsewhere is not kept.
func (f *fixture) startCommand(t *testing.T, cmd *exec.Cmd) *live {
	t.Helper()
	_ = os.Remove(f.resultFile())
	l := &live{f: f, cmd: cmd, stdout: &transcript.Transcript{}, stderr: &transcript.Transcript{}, began: time.Now(), ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = l.stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = l.stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the state says all
		close(l.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-l.ended
		for _, p := range processesIn(f.dir) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	return l
}

func (f *fixture) resultFile() string { return filepath.Join(f.dir, "result.json") }

// patience bounds every wait for something that has to happen, in a test on a busy machine.
const patience = time.Minute

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// await waits for a condition while the run goes on.
func (l *live) await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	until(t, what, func() bool {
		select {
		case <-l.ended:
			if !condition() {
				t.Fatalf("the run ended before: %s\n%s", what, l.outcome(t))
			}
		default:
		}
		return condition()
	})
}

// says waits until the run has printed a text.
func (l *live) says(t *testing.T, text string) {
	t.Helper()
	l.await(t, "it prints "+text, func() bool { return strings.Contains(l.stdout.String()+l.stderr.String(), text) })
}

// signal sends the runner a signal.
func (l *live) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if l.signalled.IsZero() {
		l.signalled = time.Now()
	}
	if err := l.cmd.Process.Signal(s); err != nil {
		t.Fatalf("send %s to the runner: %v", s, err)
	}
}

// stopped does something while the runner, and only the runner, stands still.
func (l *live) stopped(t *testing.T, do func()) {
	t.Helper()
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := l.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			do()
		}
	}
}

// finish waits for the end of the run. No process of it may be left then.
func (l *live) finish(t *testing.T) outcome {
	t.Helper()
	select {
	case <-l.ended:
	case <-time.After(l.f.timeout):
		t.Fatalf("the run hangs\n%s%s", l.stdout, l.stderr)
	}
	left := processesIn(l.f.dir)
	o := l.outcome(t)
	if len(left) > 0 {
		t.Errorf("the runner has ended, and left %v\n%s", left, o)
	}
	return o
}

// outcome is what is known of the run now.
func (l *live) outcome(t *testing.T) outcome {
	t.Helper()
	o := outcome{code: -1, stdout: l.stdout.String(), stderr: l.stderr.String(), took: time.Since(l.began)}
	select {
	case <-l.ended:
		o.code = l.cmd.ProcessState.ExitCode()
	default:
	}
	o.read(t, l.f.resultFile())
	return o
}

// partial is the result that the run has written so far.
func (l *live) partial() *result.Result {
	data, err := os.ReadFile(l.f.resultFile())
	if err != nil {
		return nil
	}
	r, err := result.Decode(data)
	if err != nil {
		return nil
	}
	return r
}

// insideBudget fails the test when more than this has passed since the first signal.
func (l *live) insideBudget(t *testing.T, budget time.Duration) {
	t.Helper()
	if took := time.Since(l.signalled); took > budget {
		t.Errorf("the run ended %s after the signal, its budget is %s\n%s", took.Round(time.Millisecond), budget, l.outcome(t))
	}
}

// process is one that was found in /proc.
type process struct {
	pid     int
	command string
}

func (p process) String() string { return strconv.Itoa(p.pid) + " " + p.command }

// processesIn finds the processes that work in a folder: everything that a run starts does so, runtimes, their
// providers and what provisioners left.
func processesIn(dir string) []process {
	return processes(func(proc string) bool {
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		return err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/"))
	})
}

// childrenOf finds the children of a process.
func childrenOf(pid int) []process {
	return processes(func(proc string) bool {
		stat, err := os.ReadFile(filepath.Join(proc, "stat"))
		if err != nil {
			return false
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		return len(fields) > 1 && fields[1] == strconv.Itoa(pid)
	})
}

func processes(wanted func(proc string) bool) []process {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	var found []process
	for _, proc := range entries {
		if !wanted(proc) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(proc))
		command, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		found = append(found, process{pid, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))})
	}
	return found
}

// child is the runner's one child that does a step.
func (l *live) child(t *testing.T, step string) process {
	t.Helper()
	var found []process
	l.await(t, "a child does "+step, func() bool {
		found = slices.DeleteFunc(childrenOf(l.cmd.Process.Pid), func(p process) bool { return !strings.Contains(p.command, " "+step+" ") })
		return len(found) == 1
	})
	return found[0]
}

// kill sends SIGKILL to one process.
func (p process) kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// slow makes the first file take a while. A stubborn provider then finishes it, signal or not.
func (f *fixture) slow(t *testing.T, delay string, stubborn bool) {
	t.Helper()
	f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \""+delay+"\"\n  stubborn = "+strconv.FormatBool(stubborn)+"\n}\n")
}

// hold has the provider wait at a point of a call, such as before-create-first (see hold in scripts/tools/probe).
// reached returns once a run waits there, and open lets it go on.
func (f *fixture) hold(t *testing.T, point string) (reached func(*live), open func()) {
	t.Helper()
	gates := t.TempDir()
	gate := filepath.Join(gates, point)
	f.env = append(f.env, "PROBE_GATES="+gates)
	overwrite(t, gate, "")
	reached = func(l *live) {
		l.await(t, "the provider waits at "+point, func() bool {
			_, err := os.Stat(gate + ".reached")
			return err == nil
		})
	}
	return reached, func() {
		if err := os.Remove(gate); err != nil {
			t.Error(err)
		}
	}
}

// creatingFirst is what a run prints when the first file is in flight.
const creatingFirst = "probe_file.first: Creating..."

// wantInterrupted is for a run that was stopped in a step.
func wantInterrupted(t *testing.T, o outcome, step string) {
	t.Helper()
	wantInterruptedWith(t, o, step, result.ExitRetry)
}

// wantInterruptedWith is for one that ended with another code.
func wantInterruptedWith(t *testing.T, o outcome, step string, code int) {
	t.Helper()
	if o.result == nil || o.result.Error == nil {
		t.Fatalf("no error in the result\n%s", o)
	}
	if e := o.result.Error; o.code != code || e.Kind != result.KindInterrupted || e.Step != step {
		t.Errorf("exit %d, error = %+v; want exit %d, %s interrupted\n%s", o.code, e, code, step, o)
	}
	if o.result.Partial {
		t.Errorf("the result is partial\n%s", o)
	}
}

// wantState compares the managed resources of the state.
func (f *fixture) wantState(t *testing.T, want ...string) {
	t.Helper()
	if got := parseState(t, f.backend.state(t)).addresses(); !slices.Equal(got, want) {
		t.Errorf("the state has %v, want %v", got, want)
	}
}

// wantInFlight is for a run that died: these are the resources that no state may know.
func wantInFlight(t *testing.T, o outcome, want ...string) {
	t.Helper()
	var got []string
	if u := o.result.Unsaved; u != nil {
		for _, r := range u.Resources {
			got = append(got, r.Address)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("unsaved resources %v, want %v\n%s", got, want, o)
	}
}
