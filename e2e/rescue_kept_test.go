package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestCutStateIsLeft has a runtime that was killed while it wrote errored.tfstate: nothing of that can be saved, ever. The
// next run says so, leaves the file, and does its work.
func TestCutStateIsLeft(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		for _, content := range []string{"", `{"version":4,"serial":9,"lin`, `null`, `{}`} {
			f.leaveErrored(t, []byte(content))
			o := f.must(t, 0, "apply")
			f.wantKeptAlone(t, o)
			if steps := o.steps(); steps != "init apply" {
				t.Errorf("steps %q after errored.tfstate %q, want that it is not pushed\n%s", steps, content, o)
			}
		}
	})
}

// TestUnreadableStateIsKept has a state that this runtime cannot read lie there: run after run ends with the code that
// calls for a person, and says what gets out of it.
func TestUnreadableStateIsKept(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		f.leaveErrored(t, []byte(`{"version":99,"serial":9,"lineage":"l"}`))
		for range 2 {
			o := f.must(t, result.ExitPerson, "apply")
			kept := f.keptStates(t)
			if e := o.result.Error; e.Reason != result.ReasonStateWrite || o.result.State.Where != kept[0] {
				t.Errorf("error = %+v, state = %+v, want that it is in %s", e, o.result.State, kept[0])
			}
			if wayOut := "run again with the runtime that wrote " + kept[0]; !strings.Contains(o.stderr, wayOut) || strings.Contains(o.stderr, "in the same working directory") {
				t.Errorf("want to be told to %s\n%s", wayOut, o)
			}
			f.wantState(t)
		}
		remove(t, f.keptStates(t)[0])
		f.must(t, 0, "apply")
		f.wantState(t, both...)
	})
}

// TestKeptFirstStateOverwritesNothing has the state of a first apply, which its runtime could not save and which no
// backend gave a lineage, lie there when another run has made a state since.
func TestKeptFirstStateOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"http", "kubernetes"} {
		t.Run(kind, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, backends[kind])
				f.must(t, 0, "apply")
				before := f.backend.state(t)
				f.leaveErrored(t, firstOf(t, before))
				o := f.run(t, "plan", "--plan-key-file", f.planKey(t))
				if !bytes.Equal(f.backend.state(t), before) || o.code != 0 {
					t.Errorf("the state was replaced, or the plan failed\n%s", o)
				}
				f.wantKeptAlone(t, o)
			})
		})
	}
}

// after1000 matches a state that was made from one with the serial 1000.
var after1000 = regexp.MustCompile(`"serial": ?100\d,`)

// TestKeptStateOfAnotherPlace gives the working directory in which a state could not be saved to a run on another state:
// that run is refused, twice, and the state goes where it belongs when its own run comes back.
func TestKeptStateOfAnotherPlace(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"http", "kubernetes"} {
		t.Run(kind, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, backends[kind])
				f.must(t, 0, "apply")
				f.leaveErrored(t, with(t, f.backend.state(t), map[string]any{
					"serial": 1000, "outputs": map[string]any{"unsaved": map[string]any{"value": "it", "type": "string"}},
				}))

				home, env := f.backend, f.env
				f.backend = backends[kind](t, f)
				for range 2 {
					if o := f.must(t, 2, "apply"); !strings.Contains(lastLine(o.stderr), f.keptStates(t)[0]) {
						t.Errorf("the last line does not name the state\n%s", o)
					}
				}
				if got := f.backend.state(t); bytes.Contains(got, []byte("probe_file")) {
					t.Errorf("the other place has got the state\n%s", got)
				}

				f.backend, f.env = home, env
				o := f.must(t, 0, "apply")
				if kept := f.keptStates(t); len(kept) > 0 || !after1000.Match(f.backend.state(t)) {
					t.Errorf("the state was not pushed, or is still there: %q\n%s\n%s", kept, f.backend.state(t), o)
				}
			})
		})
	}
}

// firstOf makes of a state what a first apply that made nothing leaves.
func firstOf(t *testing.T, state []byte) []byte {
	t.Helper()
	return with(t, state, map[string]any{"lineage": "", "serial": 0, "resources": []any{}})
}

// with changes top-level fields of a state.
func with(t *testing.T, state []byte, changed map[string]any) []byte {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(state, &fields); err != nil {
		t.Fatal(err)
	}
	maps.Copy(fields, changed)
	state, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// leaveErrored leaves what a killed runtime has written of the state that it could not save.
func (f *fixture) leaveErrored(t *testing.T, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.errored()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.errored(), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantKeptAlone wants the one file of a state that could not be saved left, and named, and removes it.
func (f *fixture) wantKeptAlone(t *testing.T, o outcome) {
	t.Helper()
	kept := f.keptStates(t)
	if len(kept) != 1 {
		t.Fatalf("kept are %q, want one file\n%s", kept, o)
	}
	if !strings.Contains(o.stderr, kept[0]) {
		t.Errorf("the log does not name %s\n%s", kept[0], o)
	}
	if err := os.Remove(kept[0]); err != nil {
		t.Fatal(err)
	}
}
