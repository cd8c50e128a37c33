package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// silentStore is a server that takes a request for the lock, or for the state, and never answers it.
type silentStore struct {
	name  string
	store func(t *testing.T, runtime tools.Runtime) (*fixture, *faults)
	harm  func(*http.Request) fate
	step  string // the one that ends
	maybe bool   // the lock may be held then
}

func silentStores() []silentStore {
	return []silentStore{
		{"the lock is not given", faulty, when(takesLock, hangs), "apply", true},
		{"the lock is given, and nobody hears of it", faulty, when(takesLock, unanswered), "apply", true},
		{"nor can it be looked at", faulty, when(either(takesLock, looksAtLock), hangs), "apply", true},
		{"the state is not given", faulty, when(readsState, hangs), "init", false},
		{"the state is not given under the lock", faulty, afterThat(takesLock, readsState, hangs), "apply", true},
		{"a Lease is not written", faultyApplied, when(writesLease, hangs), "apply", true},
		{"a Lease is neither read nor written", faultyApplied, when(about("leases"), hangs), "apply", true},
		{"a Secret is not read", faultyApplied, when(about("secrets"), hangs), "init", false},
	}
}

// faultyApplied is a faultyCluster that has a state.
func faultyApplied(t *testing.T, runtime tools.Runtime) (*fixture, *faults) {
	t.Helper()
	f, _, h := faultyCluster(t, runtime)
	f.must(t, 0, "apply")
	return f, h
}

// mostSilent bounds the runs of a test in which each does nothing for a minute and a half.
const mostSilent = 5 * time.Minute

// TestSilentStore has runs that nobody stops, whose requests are never answered: they end by themselves, with a result
// that says whether the lock may be held. All of them wait side by side.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	var ends []func()
	for _, runtime := range tools.Runtimes(t) {
		for _, row := range silentStores() {
			f, h := row.store(t, runtime)
			f.timeout = mostSilent
			h.harms(row.harm)
			l := f.start(t, "apply", "--lock-timeout", "1")
			ends = append(ends, func() {
				t.Run(row.name+"/"+runtime.Name, func(t *testing.T) { row.want(t, l.finish(t)) })
			})
		}
	}
	for _, end := range ends {
		end()
	}
}

func (s silentStore) want(t *testing.T, o outcome) {
	t.Helper()
	e := o.result.Error
	if e == nil || e.Kind != result.KindStep || e.Reason != result.ReasonBackend || e.Step != s.step || !strings.Contains(e.Tail, "no answer") {
		t.Errorf("error = %+v, want that nothing answered in %s", e, s.step)
	}
	if o.code != result.ExitRetry || o.result.Lock.MaybeHeld != s.maybe {
		t.Errorf("exit %d, lock = %+v, want %d and maybeHeld %v\n%s", o.code, o.result.Lock, result.ExitRetry, s.maybe, o)
	}
}

// silence is longer than a run waits for an answer with a --lock-timeout of 1 s.
const silence = time.Second + pollingStep + 45*time.Second + 5*time.Second

// TestSlowStore has servers that answer, but late, and then a provider that is silent for longer than a run waits for an
// answer. Such a run is not hit, whether its lock can be looked at or not.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	type slow struct {
		name, gate string
		*live
	}
	var runs []slow
	for _, runtime := range tools.Runtimes(t) {
		for name, wrap := range map[string]func(http.Handler) http.Handler{
			"a statesrv": late, "another": func(h http.Handler) http.Handler { return late(withoutLook(h)) },
		} {
			f := newFixture(t, runtime, func(t *testing.T, f *fixture) backend { return asked{serve(t, f, wrap)} })
			f.timeout, f.env = mostSilent, append(f.env, "PROBE_GATES="+f.dir)
			gate := filepath.Join(f.dir, "plan-first")
			overwrite(t, gate, "")
			runs = append(runs, slow{name + "/" + runtime.Name, gate, f.start(t, "apply", "--lock-timeout", "1")})
		}
	}
	for _, r := range runs {
		r.says(t, "Acquiring state lock")
		r.await(t, "the provider plans", func() bool { return exists(r.gate + ".reached") })
		time.AfterFunc(silence, func() { _ = os.Remove(r.gate) })
	}
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			if o := r.finish(t); o.code != 0 {
				t.Fatalf("exit %d\n%s", o.code, o)
			}
			r.f.wantState(t, both...)
		})
	}
}

// late answers each request that gives the lock or the state 10 s later.
func late(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if takesLock(r) || readsState(r) {
			time.Sleep(10 * time.Second)
		}
		next.ServeHTTP(w, r)
	})
}
