package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestLockBudgetIsOne has the first of two steps wait: the second one gets what is left.
func TestLockBudgetIsOne(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, f *fixture) {
		t.Parallel()
		f.must(t, 0, "plan", "--plan-key-file", f.planKey(t)) // makes the state
		calls := f.record(t)
		f.backend.hold(t, otherID, other)
		o := f.mustWait(t, otherID, "apply", "--guard-deletes", "--lock-timeout", "60")
		made := calls.calls(t)
		if got, want := steps(made), "init plan show apply"; got != want {
			t.Fatalf("commands %q, want %q", got, want)
		}
		before, after := lockTimeout(t, find(t, made, "init")), lockTimeout(t, find(t, made, "apply"))
		left := time.Minute - time.Duration(o.result.Lock.WaitedSeconds)
		if before != time.Minute || left > 59*time.Second || after > left || after < left-2*time.Second {
			t.Errorf("-lock-timeout was %s for init and %s for apply, when %s were left", before, after, left)
		}
	})
}

// lockTimeout is the -lock-timeout of a call.
func lockTimeout(t *testing.T, c call) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(c.value("-lock-timeout"))
	if err != nil {
		t.Fatalf("%s: %v", c.step(), err)
	}
	return d
}

// played is a fixture whose runtime is a script with these commands: what they do cannot be had from a real
// runtime. All other commands succeed.
func played(t *testing.T, commands string) *fixture {
	t.Helper()
	return playedOn(t, newHTTP, commands)
}

func playedOn(t *testing.T, newBackend func(*testing.T, *fixture) backend, commands string) *fixture {
	t.Helper()
	f := newFixture(t, tools.Runtimes(t)[0], newBackend)
	f.stub(t, `case $1 in
`+commands+`
version) echo '{"terraform_version": "1.12.6"}' ;;
show) echo '`+shownCreate+`' ;;
esac
`)
	return f
}

// shownCreate is a plan that makes one file.
const shownCreate = `{"format_version":"1.2","terraform_version":"1.12.6","resource_changes":[{"address":"probe_file.a","mode":"managed",` +
	`"type":"probe_file","name":"a","provider_name":"example.test/captf/probe","change":{"actions":["create"],"before":null,"after":{},"after_unknown":{}}}]}`

// acquiring is how a runtime says, in its JSON, that it waits for the lock.
const acquiring = `echo '{"@level":"info","@message":"Acquiring state lock. This may take a few moments...","type":"state_lock_acquire"}'`

// refused is how it says that it did not get the lock.
func refused() string {
	detail, _ := json.Marshal(`Error message: the state is already locked by another tofu client
Lock Info:
  ID:        ` + otherID + `
  Path:      
  Operation: OperationTypeApply
  Who:       ` + other + `
  Version:   1.12.6
  Created:   2026-01-02 03:04:05.678 +0000 UTC
  Info:      

OpenTofu acquires a state lock to protect the state.`)
	return `cat <<'END'
{"@level":"error","@message":"Error: Error acquiring the state lock","type":"diagnostic","diagnostic":{"severity":"error","summary":"Error acquiring the state lock","detail":` + string(detail) + `}}
END
exit 1`
}

// TestLockBudgetIsNotPassed has each of two steps wait as long as it may.
func TestLockBudgetIsNotPassed(t *testing.T) {
	t.Parallel()
	f := played(t, `plan) `+acquiring+`; sleep 3; exit 2 ;;
apply) `+acquiring+`
	for arg; do case $arg in -lock-timeout=*) limit=${arg#*=}; sleep "${limit%s}";; esac; done
	`+refused()+` ;;`)
	o := f.must(t, result.ExitRetry, "apply", "--guard-deletes", "--lock-timeout", "6")
	wantLocked(t, o, f, otherID)
	wantWaited(t, o, 5*time.Second, 6*time.Second+pollingStep)
	last := o.result.Steps[len(o.result.Steps)-1]
	if last.Name != "apply" || time.Duration(last.Seconds) < time.Second {
		t.Errorf("last step = %+v, want an apply that waited for what the plan had left", last)
	}
}

// TestLockTimeoutIgnored plays a backend that does not wait: the runner does. cases.md 57.
func TestLockTimeoutIgnored(t *testing.T) {
	t.Parallel()
	f := played(t, "apply) "+refused()+" ;;")
	o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "5")
	wantLocked(t, o, f, otherID)
	wantWaited(t, o, 4*time.Second, 5*time.Second+pollingStep)
	if last := o.result.Steps[len(o.result.Steps)-1]; last.Name != "apply" || last.Attempts < 2 {
		t.Errorf("last step = %+v, want several attempts of apply", last)
	}
}

// TestLockWaitWithoutEnd plays a runtime that knows no -lock-timeout: it is stopped, a polling step of the
// runtimes after the budget when the lock is seen to be another's, and later when nobody can look. One dies of the
// signal, the other says what it was doing.
func TestLockWaitWithoutEnd(t *testing.T) {
	t.Parallel()
	says := `trap 'echo "Error: Error acquiring the state lock" >&2; exit 1' INT
	sleep 600 &
	echo 'Acquiring state lock. This may take a few moments...'
	while :; do wait; done ;;`
	rows := []struct {
		name, step, commands string
		backend              func(*testing.T, *fixture) backend
		reason               result.Reason
		message              string
	}{
		{"dies of the signal", "apply", "apply) " + acquiring + "; exec sleep 600 ;;", newStatesrv, result.ReasonLocked, "--lock-timeout 1s: lock " + otherID},
		{"says what it did", "init", "init) " + says, newStatesrv, result.ReasonLocked, "--lock-timeout 1s: lock " + otherID},
		{"dies, unseen", "apply", "apply) " + acquiring + "; exec sleep 600 ;;", newHTTP, result.ReasonBackend, "--lock-timeout is 1s"},
		{"says it, unseen", "init", "init) " + says, newHTTP, result.ReasonBackend, "--lock-timeout is 1s"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := playedOn(t, row.backend, row.commands)
			l := f.start(t, "apply", "--lock-timeout", "1")
			l.says(t, "Acquiring state lock") // it was free before
			f.backend.hold(t, otherID, other)
			o := l.finish(t)
			if e := o.result.Error; o.code != result.ExitRetry || e == nil || e.Kind != result.KindStep || e.Reason != row.reason || e.Step != row.step {
				t.Errorf("error = %+v, want %s in %s", e, row.reason, row.step)
			}
			if !strings.Contains(o.stderr, row.message) {
				t.Errorf("the message is not about %q:\n%s", row.message, o.stderr)
			}
		})
	}
}

// TestNoRetryAfterChanges plays a provider whose message reads like a lock's: what has begun to change things
// is not started again.
func TestNoRetryAfterChanges(t *testing.T) {
	t.Parallel()
	f := played(t, `apply)
	echo '{"@level":"info","@message":"probe_file.a: Creating...","type":"apply_start","hook":{"resource":{"addr":"probe_file.a"},"action":"create"}}'
	`+refused()+` ;;`)
	o := f.must(t, result.ExitFailed, "apply", "--lock-timeout", "60")
	if e := o.result.Error; e.Reason != result.ReasonProvider {
		t.Errorf("error = %+v, want a provider's", e)
	}
	if last := o.result.Steps[len(o.result.Steps)-1]; last.Attempts > 1 {
		t.Errorf("last step = %+v, want one attempt", last)
	}
}
