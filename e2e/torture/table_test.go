package torture

import (
	"slices"
	"testing"
)

// TestChosenCells proves that the reduced form leaves out no fault and no moment that the whole has, on either
// backend or with either runtime, and that it is small.
func TestChosenCells(t *testing.T) {
	all := possible()
	few := chosen(all)
	if len(few) == 0 || len(few) > 36 {
		t.Errorf("%d of %d cells are chosen, want some and at most 36", len(few), len(all))
	}
	for _, c := range all {
		for _, pair := range pairs(c) {
			if !slices.ContainsFunc(few, func(f cell) bool { return slices.Contains(pairs(f), pair) }) {
				t.Errorf("no chosen cell has %q", pair)
			}
		}
	}
}

// TestImpossibleCells: no fault and no moment is left out as a whole.
func TestImpossibleCells(t *testing.T) {
	all := possible()
	for _, f := range faults {
		if !slices.ContainsFunc(all, func(c cell) bool { return c.fault == f.name }) {
			t.Errorf("fault %s is in no cell", f.name)
		}
	}
	for _, m := range moments {
		if !slices.ContainsFunc(all, func(c cell) bool { return c.moment == m }) {
			t.Errorf("moment %s is in no cell", m)
		}
	}
}
