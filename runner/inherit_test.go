package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/result"
)

func TestSettled(t *testing.T) {
	state := stateResources{"a.x": {"i-1", "i-2"}, `a.y["k"]`: {""}}
	for name, row := range map[string]struct {
		unsaved result.UnsavedResource
		want    bool
	}{
		"the state has it":            {result.UnsavedResource{Address: "a.x", Action: "create", ID: "i-2"}, true},
		"the state has another":       {result.UnsavedResource{Address: "a.x", Action: "create", ID: "i-3"}, false},
		"nobody knows its ID":         {result.UnsavedResource{Address: `a.y["k"]`, Action: "create"}, true},
		"the state has none":          {result.UnsavedResource{Address: "a.z", Action: "create"}, false},
		"an update that is not there": {result.UnsavedResource{Address: "a.z", Action: "update", ID: "i-1"}, false},
		"a delete":                    {result.UnsavedResource{Address: "a.x", Action: "delete", ID: "i-9"}, true},
	} {
		if got := state.settled(row.unsaved); got != row.want {
			t.Errorf("%s: settled = %v, want %v", name, got, row.want)
		}
	}
}

func TestWithEarlier(t *testing.T) {
	a, b := result.UnsavedResource{Address: "a", Action: "create"}, result.UnsavedResource{Address: "b", Action: "create", ID: "i-1"}
	own, earlier := unsavedOf([]result.UnsavedResource{a}), unsavedOf([]result.UnsavedResource{a, b})
	own.Count, own.Planned = 70, "list.json" // more than it names
	for name, row := range map[string]struct{ own, earlier, want *result.Unsaved }{
		"neither":      {nil, nil, nil},
		"only its own": {own, nil, own},
		"only earlier": {nil, earlier, earlier},
		"both":         {own, earlier, &result.Unsaved{Count: 71, Resources: []result.UnsavedResource{a, b}, Planned: "list.json"}},
	} {
		if diff := cmp.Diff(row.want, withEarlier(row.own, row.earlier)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(own.Resources) != 1 {
		t.Error("the run's own list was changed")
	}
}

func TestIndexOf(t *testing.T) {
	for want, key := range map[string]any{"": nil, "[3]": 3.0, `["a b"]`: "a b", `["\"$${x}"]`: `"${x}`} {
		if got := indexOf(key); got != want {
			t.Errorf("index %v = %q, want %q", key, got, want)
		}
	}
}
