package runner

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
)

func TestPlanned(t *testing.T) {
	for want, p := range map[string]result.Plan{
		"no changes":                          {},
		"2 to create":                         {Create: 2},
		"1 to update, 3 to delete":            {Update: 1, Delete: 3},
		"1 output to change":                  {OutputChanges: 1},
		"1 to replace, 1 to import":           {Replace: 1, Import: 1},
		"1 to create, 1 to move, 1 to forget": {Create: 1, Move: 1, Forget: 1},
	} {
		if got := planned(&p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

// TestBlockedTellsWayOut has a plan with deletes be guarded, with inputs that could be named and without.
func TestBlockedTellsWayOut(t *testing.T) {
	for hash, want := range map[string]string{"": "--expect-plan applies it", "h2:new": "--allow-deletes-hash h2:new"} {
		r := &run{opts: Options{GuardDeletes: true, InputsHash: hash}}
		err := r.approve(plan.Summary{Delete: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("inputs %q: %v, want it to say %q", hash, err, want)
		}
	}
}
