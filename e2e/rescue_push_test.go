package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/statesrv"
)

// noRetry has a runtime give up after the first answer 500.
var noRetry = []string{"--backend-config", "retry_max=0"}

// errored is where a runtime leaves a state that it could not save.
func (f *fixture) errored() string { return filepath.Join(f.dir, "work", "root", "errored.tfstate") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestRescueByPush has a state server that is out of order when the state is to be saved, and comes back: the runner
// saves the state, under a lock, and nothing is left to do. The server takes no write without a lock. cases.md 28.
func TestRescueByPush(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		h.harms(when(func(r *http.Request) bool { return writesState(r) && !exists(f.errored()) }, fails))
		o := f.must(t, result.ExitRetry, "apply", noRetry...)
		wantSaved(t, o, result.SavedPushed)
		if got := o.steps(); got != "init apply state-push" {
			t.Errorf("steps %q", got)
		}
		f.wantRescued(t, o, f.backend.state(t))
		wantGone(t, f.errored())
		wantFree(t, f, o)
		wantInFlight(t, o)
		f.wantNothingToDo(t)
	})
}

// TestRescueOfSavedState has a state server that saves each state and never says so. OpenTofu then pushes the state
// under a newer serial, and has its own next try refused: the run finds that the state is there.
func TestRescueOfSavedState(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		h.harms(when(writesState, unheard))
		o := f.must(t, result.ExitRetry, "apply", noRetry...)
		wantSaved(t, o, result.SavedPushed)
		h.harms(nil)
		wantFree(t, f, o)
		wantInFlight(t, o)
		f.wantNothingToDo(t)
	})
}

// wantSaved is for a run whose state its runtime could not save.
func wantSaved(t *testing.T, o outcome, saved result.Saved) {
	t.Helper()
	if e := o.result.Error; e == nil || e.Kind != result.KindStep || e.Reason != result.ReasonStateWrite || e.Step != "apply" {
		t.Errorf("error = %+v, want state-write in apply\n%s", e, o)
	}
	if s := o.result.State; s == nil || s.Saved != saved {
		t.Fatalf("state = %+v, want %s\n%s", s, saved, o)
	}
	wantFate(t, o)
	if strings.Contains(o.String(), "hunter2") || strings.Contains(o.stdout+o.stderr, `"lineage"`) {
		t.Errorf("the state is in the log\n%s", o)
	}
}

// wantFate checks the last line for people: it says where the state is now, and names no file that was moved.
func wantFate(t *testing.T, o outcome) {
	t.Helper()
	want := o.result.State.Where
	if o.result.State.Saved == result.SavedPushed {
		want = "the state was saved after all"
	}
	if last := o.lastLine(); !strings.Contains(last, want) || strings.Contains(last, "push errored.tfstate") {
		t.Errorf("the last line is %q, want it to say %q", last, want)
	}
}

// lastLine is the last one for people.
func (o outcome) lastLine() string {
	text := strings.TrimSpace(o.stderr)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// wantRescued compares a rescued state with what the result says of it: it has both files.
func (f *fixture) wantRescued(t *testing.T, o outcome, state []byte) {
	t.Helper()
	s, got := o.result.State, parseState(t, state)
	if s.Serial == nil || got.Serial != *s.Serial && s.Saved != result.SavedPushed || s.Lineage == "" {
		t.Errorf("state in the result = %+v, the rescued one has serial %d", s, got.Serial)
	}
	if addresses := got.addresses(); len(addresses) != 2 {
		t.Errorf("the rescued state has %v, want both files", addresses)
	}
}

// wantNothingToDo runs an apply that finds all as it should be.
func (f *fixture) wantNothingToDo(t *testing.T, flags ...string) outcome {
	t.Helper()
	o := f.must(t, 0, "apply", append(flags, "--lock-timeout", "0")...)
	wantChanges(t, o, result.Changes{})
	f.wantState(t, both...)
	return o
}

// TestRescueOverNewer has somebody else save a newer state while the run could not: it is never pushed over.
func TestRescueOverNewer(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, h := faulty(t, runtime)
		rescue := t.TempDir()
		f.must(t, 0, "apply")
		f.variables(t, map[string]string{"content": `"two"`})
		var newer []byte
		h.harms(func(r *http.Request) fate {
			if !writesState(r) || newer != nil {
				return passes
			}
			newer = f.saveNewer(t)
			return fails
		})
		o := f.must(t, result.ExitPerson, "apply", append(noRetry, "--rescue-dir", rescue)...)
		wantSaved(t, o, result.SavedRescueDir)
		if string(f.backend.state(t)) != string(newer) {
			t.Error("the newer state was overwritten")
		}
		f.wantRescued(t, o, onlyFile(t, rescue))
		if got := o.steps(); got != "init apply state-push state-pull" {
			t.Errorf("steps %q, want one push, and a look at what is stored", got)
		}
		if s := o.result.Steps[2]; s.Attempts > 1 {
			t.Errorf("step = %+v, want one try", s)
		}
		wantFree(t, f, o)
	})
}

// saveNewer stores a state that follows the stored one, under the lock that the run holds.
func (f *fixture) saveNewer(t *testing.T) (newer []byte) {
	newer = newerThan(t, f.backend.state(t))
	f.backend.(asked).using(t, func(states *statesrv.States) {
		if _, err := states.Write(t.Context(), "scenario", statesrv.WriteRequest{Body: newer, ID: f.backend.holder(t)}); err != nil {
			t.Error(err)
		}
	})
	return newer
}

// newerThan is a state that follows another.
func newerThan(t *testing.T, state []byte) []byte {
	var fields map[string]any
	if err := json.Unmarshal(state, &fields); err != nil {
		t.Error(err)
		return nil
	}
	fields["serial"] = fields["serial"].(float64) + 10
	newer, err := json.Marshal(fields)
	if err != nil {
		t.Error(err)
	}
	return newer
}

// onlyFile reads the one file of a folder, which nobody else may read.
func onlyFile(t *testing.T, dir string) []byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Fatalf("%s has the files %v, want one", dir, entries)
	}
	info, err := entries[0].Info()
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%s has mode %s, want 0600", info.Name(), info.Mode())
	}
	data, err := os.ReadFile(filepath.Join(dir, info.Name()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestStateInConfig has a state in the root that somebody could not save by hand: a run that fails leaves the true
// state as it is.
func TestStateInConfig(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.must(t, result.ExitDone, "apply")
		f.write(t, "errored.tfstate", `{"version":4,"terraform_version":"1.5.7","serial":99,"lineage":"`+
			parseState(t, f.backend.state(t)).Lineage+`","outputs":{},"resources":[]}`)
		f.write(t, "third.tf", "resource \"probe_file\" \"third\" {\n  path = \"/nowhere/file\"\n  content = \"x\"\n}\n")
		o := f.must(t, result.ExitFailed, "apply")
		if o.result.State != nil {
			t.Errorf("state = %+v, want that nothing had to be done about it\n%s", o.result.State, o)
		}
		f.wantState(t, "probe_file.first", "probe_file.second")
	})
}
