package e2e

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
)

// unread is a pipe that is full, and that nobody reads.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := w.Write(make([]byte, 4096)); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestNobodyReads runs with an output that takes nothing: what the child does is noted even so, a signal is obeyed
// inside the stop budget, and the result tells all. The same with both streams of one pipe.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	for name, streams := range map[string]struct{ out, err bool }{"stdout": {out: true}, "stderr": {err: true}, "both": {true, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newStatesrv)
			f.slow(t, "5m", false)
			ctx, cancel := context.WithTimeout(t.Context(), f.timeout)
			defer cancel()
			full, cmd := unread(t), f.command(ctx, "apply", "--stop-timeout", "20s")
			if streams.out {
				cmd.Stdout = full
			}
			if streams.err {
				cmd.Stderr = full
			}
			l := f.startCommand(t, cmd)
			l.await(t, "the resource in flight is noted", func() bool { r := l.partial(); return r != nil && r.Unsaved != nil })
			l.signal(t, syscall.SIGTERM)
			o := l.finish(t)
			l.insideBudget(t, 20*time.Second)
			wantInterrupted(t, o, "apply")
			f.wantState(t)
		})
	}
}

// TestQuit sends what would print a stack trace and exit with 2, the code of a wrong command line.
func TestQuit(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{
		syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS,
	} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newStatesrv)
			f.slow(t, "5m", false)
			l := f.start(t, "apply")
			l.says(t, creatingFirst)
			l.signal(t, s)
			o := l.finish(t)
			wantInterrupted(t, o, "apply")
			if holder := f.backend.holder(t); holder != "" {
				t.Errorf("the lock is held by %s\n%s", holder, o)
			}
		})
	}
}
