package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/e2e/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestLockWait holds the lock for a while, or for ever. cases.md 10, 20, 55, 57, 58.
func TestLockWait(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		f.must(t, 0, "apply")

		t.Run("does not wait", func(t *testing.T) {
			f.backend.hold(t, otherID, other)
			defer f.backend.release(t, otherID)
			before := f.backend.state(t)
			o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "0")
			wantLocked(t, o, f, otherID)
			if waited := time.Duration(o.result.Lock.WaitedSeconds); waited > time.Second {
				t.Errorf("waited %s, want not at all", waited)
			}
			if string(f.backend.state(t)) != string(before) || f.backend.holder(t) != otherID {
				t.Error("the state or the lock of the other run was changed")
			}
		})
		t.Run("waits for all of the budget", func(t *testing.T) {
			f.backend.hold(t, otherID, other)
			defer f.backend.release(t, otherID)
			// Three steps want the lock: what one waited the next may not wait again.
			o := f.must(t, result.ExitRetry, "drift", "--lock-timeout", "2")
			wantLocked(t, o, f, otherID)
			waited := time.Duration(o.result.Lock.WaitedSeconds)
			if waited < time.Second || waited > 2*time.Second+16*time.Second {
				t.Errorf("waited %s with a budget of 2s, and a runtime may be 16s late", waited)
			}
		})
		t.Run("gets the lock when it is free", func(t *testing.T) {
			f.backend.hold(t, otherID, other)
			f.releaseLater(t, 3*time.Second, otherID)
			o := f.must(t, 0, "refresh", "--lock-timeout", "5m", "--deadline", "10m")
			wantFree(t, f, o)
			if waited := time.Duration(o.result.Lock.WaitedSeconds); waited < time.Second {
				t.Errorf("waited %s for a lock that was held for 3s", waited)
			}
		})
	})
}

// failsAtOnce is a runtime whose backend ignores -lock-timeout: a stub, because no backend of the real ones does
// that on demand. It counts how often it was asked.
const failsAtOnce = `#!/bin/sh
case "$1" in
version) echo '{"terraform_version":"1.5.7"}' ;;
init) ;;
*)
	echo x >>"$0.calls"
	echo 'Error: Error acquiring the state lock' >&2
	echo >&2
	echo 'Error message: the state is already locked by another terraform client' >&2
	exit 1 ;;
esac
`

// TestLockTimeoutIgnored: the runner itself tries again until the budget is used. cases.md 57.
func TestLockTimeoutIgnored(t *testing.T) {
	f := newFixture(t, tools.Runtime{Name: "stub", Path: script(t, failsAtOnce)}, backends["http"])
	o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "5")
	if e := o.result.Error; e.Reason != result.ReasonLocked || e.Step != "apply" {
		t.Errorf("error = %+v, want locked in apply", e)
	}
	if steps := o.result.Steps; steps[len(steps)-1].Attempts < 2 {
		t.Errorf("steps = %+v, want apply tried again", steps)
	}
	if waited := time.Duration(o.result.Lock.WaitedSeconds); waited < 4*time.Second {
		t.Errorf("waited %s of a budget of 5s", waited)
	}
}

// waitsForEver is a runtime that never gives up: a stub for one that ignores the end of its -lock-timeout.
const waitsForEver = `#!/bin/sh
case "$1" in
version) echo '{"terraform_version":"1.5.7"}' ;;
init) ;;
*)
	trap 'echo "Error: Error acquiring the state lock" >&2; exit 1' INT
	echo '{"@level":"info","@message":"Acquiring state lock. This may take a few moments...","type":"state_lock_acquire"}'
	while :; do sleep 0.1; done ;;
esac
`

// TestLockWaitWithoutEnd: a runtime that waits longer than it was told to is stopped.
func TestLockWaitWithoutEnd(t *testing.T) {
	f := newFixture(t, tools.Runtime{Name: "stub", Path: script(t, waitsForEver)}, backends["http"])
	o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "1")
	if e := o.result.Error; e.Reason != result.ReasonLocked || !strings.Contains(o.stderr, "--lock-timeout 1s") {
		t.Errorf("error = %+v, want locked, with the budget in the message\n%s", e, o)
	}
}

// script writes an executable.
func script(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/runtime"
	overwrite(t, path, text)
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
