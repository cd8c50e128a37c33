package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestReasonOfServerFaults has a state server answer badly, and looks at what the run makes of the runtimes' own words.
func TestReasonOfServerFaults(t *testing.T) {
	locks := func(r *http.Request) bool { return r.Method == "LOCK" }
	rows := []struct {
		name   string
		harm   func(*http.Request) fate
		code   int
		reason result.Reason
		step   string
	}{
		{"reading fails", when(readsState, fails), result.ExitRetry, result.ReasonBackend, "init"},
		{"reading is cut off", when(readsState, cut), result.ExitRetry, result.ReasonBackend, "init"},
		{"reading is denied", when(readsState, denied), result.ExitFailed, result.ReasonCredentials, "init"},
		{"locking is denied", when(locks, denied), result.ExitFailed, result.ReasonCredentials, "apply"},
		{"locking fails", when(locks, fails), result.ExitRetry, result.ReasonBackend, "apply"},
		{"locking is cut off", when(locks, cut), result.ExitRetry, result.ReasonBackend, "apply"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f, h := faulty(t, runtime)
				h.harms(row.harm)
				o := f.must(t, row.code, "apply", append(noRetry, "--lock-timeout", "0")...)
				if e := o.result.Error; e.Kind != result.KindStep || e.Reason != row.reason || e.Step != row.step {
					t.Errorf("error = %+v, want %s in %s\n%s", e, row.reason, row.step, o)
				}
			})
		})
	}
}

// TestReasonOfConfiguration has modules that are wrong in the ways in which modules are wrong.
func TestReasonOfConfiguration(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		for name, text := range map[string]string{
			"syntax":                    `resource "probe_file" {`,
			"unknown argument":          `resource "probe_file" "x" { path = "/x", colour = "red" }`,
			"argument missing":          `resource "probe_file" "x" {}`,
			"variable without a value":  `variable "nobody_sets_it" {}`,
			"reference to nothing":      `output "x" { value = probe_file.nothing.id }`,
			"another version is wanted": `terraform { required_version = ">= 99.0" }`,
			"validation that fails":     `variable "v" { default = 1, validation { condition = false, error_message = "never" } }`,
			"precondition that fails":   `output "x" { value = 1, precondition { condition = false, error_message = "never" } }`,
			"function that fails":       `output "x" { value = file("/nowhere/x") }`,
			"module that is not there":  `module "m" { source = "./nowhere" }`,
			"a cycle":                   `locals { a = local.b, b = local.a }`,
			"provider argument unknown": `provider "probe" { colour = "red" }`,
			"value of the wrong type":   `resource "probe_file" "x" { path = "/x", stubborn = "maybe" }`,
			"refused by the provider":   `resource "probe_file" "x" { path = "/x", delay = "a while" }`,
			"count that is not known":   `resource "probe_file" "x" { count = probe_file.first.id == "" ? 1 : 2, path = "/x" }`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, runtime, newHTTP)
				f.write(t, "wrong.tf", strings.ReplaceAll(strings.ReplaceAll(text, ", ", "\n"), "{ ", "{\n")+"\n")
				o := f.must(t, result.ExitFailed, "apply")
				want := []result.Reason{result.ReasonConfig}
				if name == "refused by the provider" {
					want = append(want, result.ReasonProvider) // a provider may check the configuration, and says so
				}
				if e := o.result.Error; e.Kind != result.KindStep || !slices.Contains(want, e.Reason) {
					t.Errorf("error = %+v, want config\n%s", e, o)
				}
			})
		}
	})
}

// TestKilledProvider kills the provider alone, with a resource in flight: nobody knows what became of it.
func TestKilledProvider(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "5m", true)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		for _, p := range childrenOf(l.child(t, "apply").pid) {
			p.kill(t)
		}
		o := l.finish(t)
		if e := o.result.Error; o.code != result.ExitFailed || e.Reason != result.ReasonProvider {
			t.Errorf("exit %d, error = %+v; want the provider's\n%s", o.code, e, o)
		}
		wantInFlight(t, o, "probe_file.first")
		wantFree(t, f, o)
	})
}

// TestLostLockOnServer has somebody take the lock of a run away in the moment in which it is to be released: the state
// was saved, and the result says who has the lock now.
func TestLostLockOnServer(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		h.harms(func(r *http.Request) fate {
			if r.Method == "UNLOCK" && f.backend.holder(t) != otherID {
				f.rob(t)
			}
			return passes
		})
		o := f.must(t, result.ExitFailed, "apply")
		h.harms(nil)
		if e, s := o.result.Error, o.result.State; e.Reason != result.ReasonLockLost || s == nil || s.Saved != result.SavedNormally {
			t.Errorf("error = %+v, state = %+v; want a lost lock and a saved state\n%s", e, s, o)
		}
		if o.result.Lock.ID != otherID || f.backend.holder(t) != otherID {
			t.Errorf("lock = %+v, want that of the other\n%s", o.result.Lock, o)
		}
		f.wantState(t, both...)
	})
}

// rob gives the lock to another.
func (f *fixture) rob(t *testing.T) {
	f.backend.release(t, f.backend.holder(t))
	f.backend.hold(t, otherID, other)
}

// TestRobbedOnServer has the lock of a run taken away while it works: the server does not take its state any more. It is
// pushed when the other has gone, unless that one has saved a newer state.
func TestRobbedOnServer(t *testing.T) {
	for name, row := range map[string]struct {
		writes bool
		code   int
		saved  result.Saved
	}{
		"the other writes nothing": {false, result.ExitRetry, result.SavedPushed},
		"the other writes":         {true, result.ExitPerson, result.SavedRescueDir},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newStatesrv)
				rescue := t.TempDir()
				f.must(t, 0, "apply")
				f.variables(t, map[string]string{"content": `"two"`})
				f.slow(t, "2s", true)
				l := f.start(t, "apply", "--rescue-dir", rescue)
				l.says(t, "probe_file.first: Modifying...")
				f.rob(t)
				l.says(t, "rescuing it")
				if row.writes {
					f.saveNewer(t)
				}
				f.backend.release(t, otherID)
				o := l.finish(t)
				if o.code != row.code {
					t.Errorf("exit %d, want %d\n%s", o.code, row.code, o)
				}
				wantSaved(t, o, row.saved)
				wantFree(t, f, o)
			})
		})
	}
}

// TestKilledHelper kills the processes that only read a plan or release a lock, as the kernel does when memory is short:
// the result says so of them, too.
func TestKilledHelper(t *testing.T) {
	t.Parallel()
	for step, row := range map[string]struct {
		command string
		flags   []string
	}{
		"show-json":    {"show", []string{"--guard-deletes"}},
		"force-unlock": {"force-unlock", []string{"--force-unlock", staleID}},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newHTTP)
			f.stub(t, `[ "$1" = `+row.command+` ] && kill -9 $$
exec "$REAL" "$@"
`)
			o := f.must(t, result.ExitFailed, "apply", row.flags...)
			if e := o.result.Error; e.Kind != result.KindStep || e.Reason != result.ReasonKilled || e.Step != step {
				t.Errorf("error = %+v, want killed in %s\n%s", e, step, o)
			}
			if s := o.result.Steps[len(o.result.Steps)-1]; s.Name != step || s.Exit != 137 || s.Signal != "SIGKILL" || s.MaxRSSKiB == 0 {
				t.Errorf("last step = %+v, want %s, killed", s, step)
			}
		})
	}
}
