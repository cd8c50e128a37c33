package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// threeFiles are made one after the other, by a provider that finishes what it does.
const threeFiles = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "files" { type = string }
resource "probe_file" "a" {
  path     = "${var.files}/a"
  delay    = "300ms"
  stubborn = true
}
resource "probe_file" "b" {
  path     = "${var.files}/b"
  content  = probe_file.a.id
  delay    = "300ms"
  stubborn = true
}
resource "probe_file" "c" {
  path     = "${var.files}/c"
  content  = probe_file.b.id
  delay    = "300ms"
  stubborn = true
}
`

// signals is how many runs of each runtime get a signal at a random moment.
func signals() int {
	if os.Getenv("CAPTF_TORTURE") != "" {
		return 50
	}
	return 4
}

// TestSignalAtAnyMoment sends a signal at a random moment of a run. A child that is going to end in time is never
// pressed, the runner never ends before it, nothing lives on, no file is made without a state that knows it, no lock is
// left, and the next run finishes what is missing.
func TestSignalAtAnyMoment(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.write(t, "main.tf", threeFiles)
		whole := f.must(t, 0, "apply").took
		random := rand.New(rand.NewPCG(1, 2))
		for range signals() {
			f.must(t, 0, "destroy")
			delay := time.Duration(random.Int64N(int64(whole)))
			l := f.start(t, "apply", "--lock-timeout", "0")
			select {
			case <-time.After(delay):
				_ = l.cmd.Process.Signal([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[random.IntN(2)])
			case <-l.ended:
			}
			f.wantConsistent(t, l.finish(t), delay)
		}
		f.must(t, 0, "apply", "--lock-timeout", "0")
		f.wantState(t, "probe_file.a", "probe_file.b", "probe_file.c")
	})
}

// wantConsistent is for a run that a signal may have ended at any moment.
func (f *fixture) wantConsistent(t *testing.T, o outcome, delay time.Duration) {
	t.Helper()
	switch {
	case o.code < 0: // it died of the signal before it could listen
	case o.result == nil, o.result.Partial, o.result.ExitCode() != o.code:
		t.Errorf("signal after %s: exit %d does not fit the result\n%s", delay, o.code, o)
	case o.code == result.ExitRetry && o.result.Error.Kind != result.KindInterrupted, o.code != result.ExitRetry && o.code != 0:
		t.Errorf("signal after %s: exit %d, error = %+v; want interrupted, or success\n%s", delay, o.code, o.result.Error, o)
	}
	if strings.Contains(o.stdout, "Two interrupts received") || o.result != nil && o.result.Unsaved != nil {
		t.Errorf("signal after %s: the runtime was pressed, with %s of time left\n%s", delay, time.Minute, o)
	}
	if id := f.backend.holder(t); id != "" {
		t.Errorf("signal after %s: lock %s is still held\n%s", delay, id, o)
	}
	made, err := filepath.Glob(f.files + "/*")
	if err != nil {
		t.Fatal(err)
	}
	if known := parseState(t, f.backend.state(t)).addresses(); len(made) != len(known) {
		t.Errorf("signal after %s: there are %v, and the state has %v\n%s", delay, made, known, o)
	}
}
