package runtime

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a child that is no runtime: it does with signals exactly what a test needs.
func shell(script string, args ...string) process {
	return process{Command: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: os.Environ()}
}

func TestProcessExit(t *testing.T) {
	tests := []struct {
		name   string
		script string
		want   Exit
		signal string
	}{
		{"ends well", "exit 0", Exit{}, ""},
		{"fails", "exit 3", Exit{Code: 3}, ""},
		{"dies of a signal", "kill -9 $$", Exit{Code: 137, Signal: syscall.SIGKILL}, "SIGKILL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shell(tt.script).Run(t.Context(), NewStop(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if got.Code != tt.want.Code || got.Signal != tt.want.Signal || got.Asked || got.Killed {
				t.Errorf("exit = %+v, want %+v", got, tt.want)
			}
			if got := got.SignalName(); got != tt.signal {
				t.Errorf("signal %q, want %q", got, tt.signal)
			}
			if got.MaxRSSKiB == 0 || got.Duration == 0 {
				t.Errorf("exit = %+v, want a size and a duration", got)
			}
		})
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	_, err := process{Command: []string{"/nonexistent/tofu"}}.Run(t.Context(), NewStop(time.Minute))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("err = %v, want one that wraps ErrNotExist", err)
	}
}

// started runs a process whose first line of output says that it is ready, and then requests the stop.
func started(t *testing.T, p process, stop *Stop) (Exit, string) {
	t.Helper()
	var out bytes.Buffer
	p.Stdout = newLines(func(line []byte) {
		out.Write(append(line, '\n'))
		if string(line) == "ready" {
			stop.Request(errors.New("test"))
		}
	})
	exit, err := p.Run(t.Context(), stop)
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String()
}

func TestStopSendsOneInterruptAndWaits(t *testing.T) {
	exit, out := started(t, shell(`trap 'echo interrupted' INT; echo ready; sleep 0.3; sleep 0.3; echo saved; exit 1`), NewStop(time.Minute))
	if n := strings.Count(out, "interrupted"); n != 1 {
		t.Errorf("child saw %d interrupts, want 1; output:\n%s", n, out)
	}
	if exit.Code != 1 || !exit.Asked || exit.Pressed || exit.Killed || !strings.Contains(out, "saved") {
		t.Errorf("exit = %+v, output %q; want the child's own end", exit, out)
	}
}

func TestLaterRequestsSendNothing(t *testing.T) {
	stop := NewStop(time.Minute)
	go func() {
		<-stop.Done()
		for range 20 {
			stop.Request(errors.New("again"))
		}
	}()
	_, out := started(t, shell(`trap 'echo interrupted' INT; echo ready; sleep 0.2; sleep 0.2`), stop)
	if n := strings.Count(out, "interrupted"); n != 1 {
		t.Errorf("child saw %d interrupts, want 1", n)
	}
	if stop.Cause().Error() != "test" {
		t.Errorf("cause = %v, want that of the first request", stop.Cause())
	}
}

func TestStopClimbsTheLadder(t *testing.T) {
	exit, out := started(t, shell(`trap 'echo interrupted' INT; echo ready; while :; do sleep 0.05; done`), NewStop(2*time.Second))
	if n := strings.Count(out, "interrupted"); n != 2 {
		t.Errorf("child saw %d interrupts, want 2 before it is killed", n)
	}
	if !exit.Pressed || !exit.Killed || exit.Signal != syscall.SIGKILL {
		t.Errorf("exit = %+v, want pressed, then killed", exit)
	}
}

func TestContextEndsAChildOfARunThatGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := shell(`trap 'echo interrupted; exit 7' INT; echo ready; sleep 5 & wait`)
	p.Stdout = newLines(func([]byte) { cancel() })
	exit, err := p.Run(ctx, NewStop(time.Minute))
	if err != nil || exit.Code != 7 || !exit.Asked {
		t.Errorf("exit = %+v, %v; want 7 after an interrupt", exit, err)
	}
}

// A provider that outlives its runtime would go on changing things.
func TestGroupDoesNotOutliveTheChild(t *testing.T) {
	for name, script := range map[string]string{
		"ends by itself": `sleep 60 & echo $! >"$1"; exit 0`,
		"holds output":   `sh -c 'sleep 60' & echo $! >"$1"; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			p := shell(script, pidFile)
			p.Stdout = new(bytes.Buffer)
			if _, err := p.Run(t.Context(), NewStop(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if alive(t, pidFile) {
				t.Error("a process of the child's group is still running")
			}
		})
	}
}

// A process that has ended stays in its group until its parent asks for it. That of this one is in another session, where
// no signal to the group reaches it, and never asks.
func TestGroupThatIsNotSeenToBeGone(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := shell(`sh -c 'sleep 60 & exec setsid sleep 60' &
echo $! >"$1"; while [ "$(cat /proc/$!/comm)" != sleep ]; do sleep 0.01; done`, pidFile)
	exit, err := p.Run(t.Context(), NewStop(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if exit.GroupGone {
		t.Errorf("exit = %+v, want a group that is not gone", exit)
	}
	if pid := pidIn(t, pidFile); syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Error("the process in the other session has ended: the test shows nothing")
	}
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// alive looks at a process that may be a zombie: nobody but init reaps it.
func alive(t *testing.T, pidFile string) bool {
	t.Helper()
	pid := pidIn(t, pidFile)
	for range 100 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

func TestLadder(t *testing.T) {
	tests := []struct{ budget, again, kill time.Duration }{
		{60 * time.Second, 44 * time.Second, 50 * time.Second},
		{600 * time.Second, 584 * time.Second, 590 * time.Second},
		{10 * time.Second, 3750 * time.Millisecond, 7500 * time.Millisecond},
		{0, 0, 0},
	}
	for _, tt := range tests {
		if got := newLadder(tt.budget); got != (ladder{tt.again, tt.kill}) {
			t.Errorf("newLadder(%s) = %+v, want %s and %s", tt.budget, got, tt.again, tt.kill)
		}
	}
}
