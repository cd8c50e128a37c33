package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// Two runs in one working directory would each empty it under the other's feet: the second one is told so before it
// touches anything. A dry run only looks, so it may work beside the first; so may a second run on a laptop.
func TestWorkdirInUse(t *testing.T) {
	f := newFixture(t, tools.Runtimes(t)[0], nil)
	gate := f.gated(t)

	on := []string{"--backend-config", "address=http://127.0.0.1:9/states/x"}
	first := f.start(t, "apply", append(on, "--result", filepath.Join(f.dir, "first.json"))...)
	gate.entered(t)

	second := f.must(t, 2, "apply", on...)
	for _, want := range []string{"another run is working in it", filepath.Join(f.dir, "work"), "--workdir"} {
		if !strings.Contains(second.stderr, want) {
			t.Errorf("the error lacks %q\n%s", want, second)
		}
	}
	if dry := f.run(t, "apply", append(on, "--dry-run")...); dry.code != 0 || !strings.Contains(dry.stdout, " init ") {
		t.Errorf("a dry run beside a run: exit %d\n%s", dry.code, dry)
	}

	gate.open(t)
	<-first.ended // the stub fails
	if third := f.run(t, "apply", on...); third.code == 2 {
		t.Errorf("the directory is still in use after the run that had it\n%s", third)
	}
}

func TestSecondLocalRunWorksBeside(t *testing.T) {
	f := newFixture(t, tools.Runtimes(t)[0], backends["local"])
	real := f.runtime.Path
	gate := f.gated(t)
	first := f.start(t, "plan", "--result", filepath.Join(f.dir, "first.json"))
	gate.entered(t)

	f.runtime.Path = real
	f.must(t, 0, "apply")
	gate.open(t)
	<-first.ended
	if left, _ := filepath.Glob(filepath.Join(f.dir, "work~*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A provider makes a socket below TMPDIR, whose path may have 107 bytes.
func TestDeepWorkdir(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		f.must(t, 0, "apply", "--workdir", filepath.Join(f.dir, strings.Repeat("deep/", 20)))
	})
}

// gate is a stub runtime that says when it was started, and fails once the gate is open.
type gate struct{ in, out string }

func (f *fixture) gated(t *testing.T) gate {
	t.Helper()
	dir := t.TempDir()
	g := gate{in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out")}
	if err := syscall.Mkfifo(g.out, 0o600); err != nil {
		t.Fatal(err)
	}
	f.stub(t, "[ -e '"+g.in+"' ] && exit 1\n: >'"+g.in+"'\nread line <'"+g.out+"'\nexit 1\n")
	return g
}

func (g gate) entered(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(g.in); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the runtime was not started")
		}
	}
}

func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(g.out, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// TestLocalRunBesideKilled kills a local runner that works beside another one. The next run takes over what it left
// there, once its child has ended: its state and its lock.
func TestLocalRunBesideKilled(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, backends["local"])
		real := f.runtime.Path
		gate := f.gated(t)
		first := f.start(t, "plan", "--result", filepath.Join(f.dir, "first.json"))
		gate.entered(t)

		f.runtime.Path = real
		f.slow(t, "3s", false)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.signal(t, syscall.SIGKILL)
		gate.open(t)
		<-first.ended

		f.mustTakeOver(t)
		if left, _ := filepath.Glob(filepath.Join(f.dir, "work~*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// TestLocalRunTellsOfEarlier kills a local run with all that belongs to it, while it makes a file. Each run after it
// tells of that file, until the state has it.
func TestLocalRunTellsOfEarlier(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, backends["local"])
		f.startMaking(t).killAll(t)
		f.slow(t, "0s", false)
		for _, op := range []string{"plan", "plan", "apply"} {
			o := f.resultOf(t, f.run(t, op, defaultResult))
			if o.code != 0 || !strings.Contains(o.stderr, "an earlier run began") || !strings.Contains(o.stdout, "probe_file.first (create") {
				t.Errorf("%s after the kill: exit %d, or it does not tell of the file\n%s", op, o.code, o)
			}
			wantInFlight(t, o, "probe_file.first")
		}
		o := f.resultOf(t, f.run(t, "apply", defaultResult))
		wantInFlight(t, o)
	})
}

// startMaking starts a local run that makes a file for long, and waits until its result tells of that.
func (f *fixture) startMaking(t *testing.T) *live {
	t.Helper()
	f.slow(t, "5m", true)
	l := f.start(t, "apply", defaultResult)
	l.says(t, creatingFirst)
	l.await(t, "the result names the file", func() bool {
		data, _ := os.ReadFile(f.ownResult())
		return strings.Contains(string(data), `"unsaved"`)
	})
	return l
}

// killAll kills an apply with all that belongs to it.
func (l *live) killAll(t *testing.T) {
	t.Helper()
	child := l.child(t, "apply")
	l.signal(t, syscall.SIGKILL)
	_ = syscall.Kill(-child.pid, syscall.SIGKILL)
	<-l.ended
}

// TestLocalRunnerKilled kills a local runner, and with it the state server. Its child still works for a while and
// cannot save what it makes. The next run waits for that child, takes over its state and its lock, and makes nothing
// twice.
func TestLocalRunnerKilled(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, backends["local"])
		f.slow(t, "3s", false)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		l.signal(t, syscall.SIGKILL)
		<-l.ended // until then the next run takes it for one that works, and works beside it

		if o := f.mustTakeOver(t); !strings.Contains(o.stderr, "waiting for a process of an earlier run") {
			t.Errorf("it did not wait\n%s", o)
		}
	})
}

// TestProviderLeftBehind kills a local run and its runtime, but not the provider, which would never end: the next run
// ends it, and goes on.
func TestProviderLeftBehind(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, backends["local"])
		l := f.startMaking(t)
		child := l.child(t, "apply")
		l.signal(t, syscall.SIGSTOP) // or it would end what the child leaves
		_ = syscall.Kill(child.pid, syscall.SIGKILL)
		l.signal(t, syscall.SIGKILL)
		<-l.ended

		f.slow(t, "0s", false)
		o := f.resultOf(t, f.run(t, "apply", defaultResult, "--lock-timeout", "60"))
		if o.code != 0 || !strings.Contains(o.stderr, "killed a provider whose runtime was killed") {
			t.Errorf("exit %d, or it does not tell of the provider\n%s", o.code, o)
		}
		f.wantState(t, both...)
	})
}

// mustTakeOver applies after a local run was killed: its lock is released and its state pushed, before anything is made.
func (f *fixture) mustTakeOver(t *testing.T) outcome {
	t.Helper()
	o := f.must(t, 0, "apply")
	if u := o.result.Lock.ForceUnlock; u == nil || u.Outcome != result.OutcomeReleased {
		t.Errorf("forceUnlock = %+v, want the dead run's lock released\n%s", u, o)
	}
	if got := o.steps(); got != "init state-push apply" {
		t.Errorf("steps %q, want the state of the killed run to be pushed first\n%s", got, o)
	}
	f.wantState(t, both...)
	f.wantNothingToDo(t)
	return o
}
