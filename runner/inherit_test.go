package runner

import (
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
