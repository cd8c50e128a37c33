package runner

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/result"
)

func TestSettled(t *testing.T) {
	state := map[string][]instance{"a.x": {{id: "i-1"}, {id: "i-2", deposed: true}}, `a.y["k"]`: {{}}, "a.n": {{name: "n-1"}}}
	for name, row := range map[string]struct {
		unsaved result.UnsavedResource
		want    bool
	}{
		"the state has it":            {result.UnsavedResource{Address: "a.x", Action: "create", ID: "i-2"}, true},
		"the state has another":       {result.UnsavedResource{Address: "a.x", Action: "create", ID: "i-3"}, false},
		"nobody knows its ID":         {result.UnsavedResource{Address: `a.y["k"]`, Action: "create"}, true},
		"the state has none":          {result.UnsavedResource{Address: "a.z", Action: "create"}, false},
		"an update that is not there": {result.UnsavedResource{Address: "a.z", Action: "update", ID: "i-1"}, false},
		"the state has its name":      {result.UnsavedResource{Address: "a.n", Action: "create", ID: "n-1"}, true},
		"a delete":                    {result.UnsavedResource{Address: "a.x", Action: "delete", ID: "i-9"}, true},
	} {
		if got := settled(state, row.unsaved); got != row.want {
			t.Errorf("%s: settled = %v, want %v", name, got, row.want)
		}
	}
}

func TestWithEarlier(t *testing.T) {
	a, b := result.UnsavedResource{Address: "a", Action: "create"}, result.UnsavedResource{Address: "b", Action: "create", ID: "i-1"}
	own := &result.Unsaved{Count: 70, Resources: []result.UnsavedResource{a}, Planned: "list.json"} // more than it names
	earlier := &result.Unsaved{Count: 2, Resources: []result.UnsavedResource{a, b}}
	killed := &result.Unsaved{Count: 70, Resources: []result.UnsavedResource{b}, Planned: "its-list.json"}
	for name, row := range map[string]struct{ own, earlier, want *result.Unsaved }{
		"neither":      {nil, nil, nil},
		"only its own": {own, nil, own},
		"only earlier": {nil, earlier, earlier},
		"more than the earlier one names": {&result.Unsaved{Count: 1, Resources: []result.UnsavedResource{a}}, killed,
			&result.Unsaved{Count: 71, Resources: []result.UnsavedResource{a, b}, Planned: "its-list.json"}},
		"both": {own, earlier, &result.Unsaved{Count: 71, Resources: []result.UnsavedResource{a, b}, Planned: "list.json"}},
	} {
		if diff := cmp.Diff(row.want, withEarlier(row.own, row.earlier)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(own.Resources) != 1 {
		t.Error("the run's own list was changed")
	}
}

// TestBesideLeavesState has a local run inherit a state, and find that another run has the working directory: what was
// kept in there is that one's to push, and no more this one's to tell of.
func TestBesideLeavesState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	living := newWorkspace(dir)
	if err := living.claim(); err != nil {
		t.Fatal(err)
	}
	defer living.release()
	for folder, keeps := range map[string]bool{dir: false, t.TempDir(): true} {
		where := filepath.Join(folder, rescuedPrefix+"x.tfstate")
		if err := os.WriteFile(where, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &run{
			opts: Options{Local: true, Workdir: dir}, log: slog.New(slog.DiscardHandler),
			report: report{Result: &result.Result{State: &result.State{Saved: result.SavedLost, Where: where}}},
		}
		if err := r.claimWorkspace(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.work.release()
		if got := r.report.State != nil; got != keeps {
			t.Errorf("%s: it goes on to tell of it: %v, want %v", where, got, keeps)
		}
	}
}
