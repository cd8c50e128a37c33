package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestRescueToDirectory has a state server that takes no state any more: the state is put into --rescue-dir, and a
// restore takes it from there.
func TestRescueToDirectory(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		rescue := t.TempDir()
		h.harms(when(writesState, denied))
		o := f.must(t, result.ExitPerson, "apply", "--rescue-dir", rescue)
		wantSaved(t, o, result.SavedRescueDir)
		state := onlyFile(t, rescue)
		f.wantRescued(t, o, state)
		if where := o.result.State.Where; filepath.Dir(where) != rescue || !exists(where) {
			t.Errorf("where = %q, want the file", where)
		}
		wantFree(t, f, o)
		wantInFlight(t, o)

		h.harms(nil)
		f.chunks(t, zipped(t, state))
		f.must(t, 0, "restore", "--restore-chunks", "1", "--restore-resources", "2", "--workdir", f.dir+"/work2")
		f.wantState(t, both...)
	})
}

// TestRescueFindsNoPlace has nowhere to put the state: the result says so and names what may exist without it. The
// working directory keeps the only copy, and the next run in it saves that before it does anything else.
func TestRescueFindsNoPlace(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		h.harms(when(writesState, tooLarge))
		o := f.must(t, result.ExitPerson, "apply")
		wantSaved(t, o, result.SavedLost)
		kept, err := os.ReadFile(o.result.State.Where)
		if err != nil {
			t.Fatal(err)
		}
		f.wantRescued(t, o, kept)
		wantInFlight(t, o, "probe_file.first", "probe_file.second[0]")
		wantFree(t, f, o)

		h.harms(nil)
		o = f.wantNothingToDo(t)
		if got := o.steps(); got != "init state-push apply" {
			t.Errorf("steps %q, want the kept state to be pushed first", got)
		}
		if left := f.keptStates(t); len(left) > 0 {
			t.Errorf("%v are still there", left)
		}
	})
}

// TestKeptStateIsRefused has another run save a state of its own before the next one in this working directory: what
// was kept is not pushed over it, and stays.
func TestKeptStateIsRefused(t *testing.T) {
	t.Parallel()
	f, h := faulty(t, tools.Runtimes(t)[0])
	h.harms(when(writesState, denied))
	f.must(t, result.ExitPerson, "apply")
	h.harms(nil)
	f.variables(t, map[string]string{"content": `"two"`})
	f.must(t, 0, "apply", "--workdir", f.dir+"/work2")
	before := f.backend.state(t)
	f.wantNothingToDo(t)
	if string(f.backend.state(t)) != string(before) {
		t.Error("the state of the other run was overwritten")
	}
	if left := f.keptStates(t); len(left) == 0 {
		t.Error("the kept state is gone")
	}
}

// keptStates are the states in the working directory.
func (f *fixture) keptStates(t *testing.T) []string {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(f.dir, "work", "*.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestRescuePrintedState has no room on the disk for errored.tfstate: the runtime prints the whole state, with every
// secret in it. It is caught, brought to safety, and no line of it is in the log.
func TestRescuePrintedState(t *testing.T) {
	for name, saved := range map[string]result.Saved{"pushed": result.SavedPushed, "to the directory": result.SavedRescueDir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f, h := faulty(t, runtime)
				d, rescue, filled := smallDisk(t, filepath.Join(f.dir, "disk")), t.TempDir(), false
				h.harms(func(r *http.Request) fate {
					if !writesState(r) || filled && saved == result.SavedPushed {
						return passes
					}
					if !filled {
						d.fill(t)
					}
					filled = true
					return denied
				})
				code := result.ExitRetry
				if saved == result.SavedRescueDir {
					code = result.ExitPerson
				}
				o := f.must(t, code, "apply", "--workdir", filepath.Join(d.dir, "work"), "--rescue-dir", rescue)
				wantSaved(t, o, saved)
				if saved == result.SavedPushed {
					f.wantRescued(t, o, f.backend.state(t))
				} else {
					f.wantRescued(t, o, onlyFile(t, rescue))
				}
			})
		})
	}
}

// TestRescueFirstState has the first apply of all on a full disk with a server that fails every request: the printed
// state was never saved and has no lineage. It is pushed once the server is well, and only where there is none.
func TestRescueFirstState(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		d := smallDisk(t, filepath.Join(f.dir, "disk"))
		f.slowSecond(t, "2s")
		l := f.start(t, "apply", "--workdir", filepath.Join(d.dir, "work"))
		l.says(t, creatingSecond)
		d.fill(t)
		h.harms(when(everything, fails))
		l.says(t, "rescuing it")
		h.harms(nil)
		o := l.finish(t)
		wantSaved(t, o, result.SavedPushed)
		f.wantState(t, both...)
		wantInFlight(t, o)
		if o.result.State.Lineage == "" {
			t.Errorf("state = %+v, want a lineage", o.result.State)
		}
	})
}
