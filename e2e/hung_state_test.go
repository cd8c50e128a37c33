package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// stopBudget is the whole stop budget of the runs that hang. A quarter of it is left after the last signal.
const stopBudget = 8 * time.Second

// TestHungStateServer has a state server that takes requests and never answers, from the first one on or in the middle
// of an apply: a run that is stopped ends inside its budget, with a result, whatever its runtime does.
func TestHungStateServer(t *testing.T) {
	rows := []struct {
		name   string
		hang   func(h *faults)
		moment string // the server stops answering; then the signal comes
		step   string
		flight []string
		code   int // a person is needed once a file is there that no state has
	}{
		{"from the first request on", func(h *faults) { h.harms(when(everything, hangs)) }, "", "init", nil, result.ExitRetry},
		{"while a file is made", func(h *faults) { h.harms(when(everything, hangs)) }, creatingSecond, "apply", bothInstances, result.ExitPerson},
		{"only for writes", func(h *faults) { h.harms(when(writesState, hangs)) }, creatingSecond, "apply", bothInstances, result.ExitPerson},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f, h := faulty(t, runtime)
				f.write(t, "slow_override.tf", "resource \"probe_file\" \"second\" {\n  delay = \"5m\"\n}\n")
				if row.moment == "" {
					row.hang(h)
				}
				l := f.start(t, "apply", "--lock-timeout", "0", "--stop-timeout", stopBudget.String())
				if row.moment != "" {
					l.says(t, row.moment)
					row.hang(h)
				} else {
					l.child(t, "init")
				}
				l.signal(t, syscall.SIGTERM)
				o := l.finish(t)
				l.insideBudget(t, stopBudget)
				wantInterruptedWith(t, o, row.step, row.code)
				wantInFlight(t, o, row.flight...)
				f.wantLockKnown(t, o, h)
			})
		})
	}
}

var bothInstances = []string{"probe_file.first", "probe_file.second[0]"}

// wantLockKnown wants the lock free again, or its ID in the result: the next run must not have to wait for it.
func (f *fixture) wantLockKnown(t *testing.T, o outcome, h *faults) {
	t.Helper()
	h.harms(nil)
	id := f.backend.holder(t)
	if id != "" && o.result.Lock.ID != id {
		t.Errorf("the lock is held by %s, and the result says %+v", id, o.result.Lock)
	}
	if id == "" && o.result.Lock.ID != "" && !o.result.Lock.Released {
		t.Errorf("the lock is free, and the result says %+v", o.result.Lock)
	}
}

// TestHungLook has a statesrv whose answers about the lock never come: a run does without them.
func TestHungLook(t *testing.T) {
	t.Parallel()
	f, h := faulty(t, tools.Runtimes(t)[0])
	h.harms(when(looksAtLock, hangs))
	f.must(t, 0, "apply")
	f.wantState(t, both...)
	if id := f.backend.holder(t); id != "" {
		t.Errorf("lock %s is still held", id)
	}
}

// TestHungAPIServer has an API server that takes connections and never answers.
func TestHungAPIServer(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, nil)
		api := newSilent(t)
		f.write(t, "kubeconfig", `{"apiVersion":"v1","kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],
			"clusters":[{"name":"x","cluster":{"server":"https://`+api.address()+`","insecure-skip-tls-verify":true}}],"users":[{"name":"x","user":{"token":"t0ken"}}]}`)
		l := f.start(t, "apply", "--stop-timeout", stopBudget.String(), "--backend-config", "secret_suffix=x", "--backend-config", "namespace=n",
			"--backend-config", "config_path="+f.config+"/kubeconfig", "--event-object", "v1/ConfigMap/n/x/uid", "--job-name", "j", "--job-uid", "u")
		l.child(t, "init")
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		l.insideBudget(t, stopBudget)
		wantInterrupted(t, o, "init")
	})
}

// TestHungRuntime has a runtime that hangs in each of its commands and obeys no signal.
func TestHungRuntime(t *testing.T) {
	for name, row := range map[string]struct{ hangsIn, op, step string }{
		"init":         {"init", "apply", "init"},
		"force-unlock": {"force-unlock", "apply", "force-unlock"},
		"plan":         {"plan", "plan", "plan"},
		"version":      {"version", "restore", "state-push"},
		"show":         {"show", "plan", "show-json"},
		"apply":        {"apply", "apply", "apply"},
		"state push":   {"state", "restore", "state-push"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newHTTP)
			f.stub(t, `[ "$1" = `+row.hangsIn+` ] || exec "$REAL" "$@"
trap '' INT TERM
sleep 300 &
touch '`+f.dir+`/hangs'
while :; do wait; done
`)
			flags := []string{"--stop-timeout", stopBudget.String(), "--plan-key-file", f.planKey(t)}
			if row.step == "force-unlock" {
				flags = append(flags, "--force-unlock", staleID)
			}
			if row.op == "restore" {
				f.chunks(t, zipped(t, []byte(`{"version":4,"serial":1,"lineage":"l","terraform_version":"1.5.7","outputs":{},"resources":[]}`)))
				flags = append(flags, "--restore-chunks", "1")
			}
			l := f.start(t, row.op, flags...)
			l.await(t, "the runtime hangs", func() bool { return exists(f.dir + "/hangs") })
			l.signal(t, syscall.SIGTERM)
			o := l.finish(t)
			l.insideBudget(t, stopBudget)
			wantInterrupted(t, o, row.step)
			if o.code != result.ExitRetry {
				t.Errorf("exit %d", o.code)
			}
		})
	}
}

// TestLockOfDeadServer has a state server die right after it has given a lock: nobody could ask it for the lock's ID, and
// the result says that the lock may be held.
func TestLockOfDeadServer(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		var locked atomic.Bool
		h.harms(func(r *http.Request) fate {
			if locked.Load() {
				return cut
			}
			locked.Store(r.Method == "LOCK")
			return passes
		})
		o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "0")
		h.harms(nil)
		if id := f.backend.holder(t); id == "" {
			t.Fatalf("the lock is free\n%s", o)
		}
		if l := o.result.Lock; !l.MaybeHeld || !strings.Contains(o.stderr, "may still be held") {
			t.Errorf("lock = %+v, want it to be told that it may be held\n%s", l, o)
		}
	})
}
