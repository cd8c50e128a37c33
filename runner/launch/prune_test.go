package launch

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/naming"
)

// The memory that decisions are made from survives: among others a state that is not saved, and the restore after it.
func TestPrunable(t *testing.T) {
	many := func(n int, op naming.Op, v Verdict) (runs []Run) {
		for range n {
			runs = append(runs, Run{Job: naming.Job{Op: op}, Booked: true, Outcome: &Outcome{Verdict: v}})
		}
		return runs
	}
	unbooked := []Run{{Job: naming.Job{Op: naming.Apply}, Finished: true}}
	apply, drift := many(6, naming.Apply, Succeeded), many(6, naming.Drift, Succeeded)
	unsaved, restored := many(1, naming.Apply, StateUnsaved), many(1, naming.Restore, Succeeded)
	failed := many(6, naming.Restore, Failed)
	tests := map[string]struct {
		runs [][]Run
		want []int // indices
	}{
		"few":                       {[][]Run{apply, drift}, nil},
		"two more":                  {[][]Run{many(2, naming.Apply, Failed), apply}, []int{1, 0}},
		"each operation":            {[][]Run{many(1, naming.Drift, Failed), many(1, naming.Apply, Failed), drift, apply}, []int{1, 0}},
		"not booked":                {[][]Run{unbooked, apply}, nil},
		"not saved":                 {[][]Run{unsaved, apply}, nil},
		"restored since":            {[][]Run{unsaved, restored, apply}, []int{0}},
		"a restore failed":          {[][]Run{unsaved, failed[:1], apply}, nil},
		"restored before":           {[][]Run{restored, unsaved, apply}, nil},
		"the restore that saved it": {[][]Run{unsaved, restored, failed}, nil},
		"an older restore":          {[][]Run{unsaved, restored, restored, failed}, []int{1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var o Observed
			for _, runs := range tt.runs {
				o.Runs = append(o.Runs, runs...)
			}
			for i := range o.Runs {
				o.Runs[i].Name = fmt.Sprint(i)
			}
			var want []string
			for _, i := range tt.want {
				want = append(want, fmt.Sprint(i))
			}
			var got []string
			for _, r := range o.prunable(6) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
