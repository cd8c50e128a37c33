package lease_test

import (
	"testing"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// TestGiveBack gives back what an admission took, unless another manager may count on it: one that was admitted with the
// same Job before, or has been since. A cluster has two leases, and gives back both or none.
func TestGiveBack(t *testing.T) {
	for name, object := range map[string]int{"a machine": 1, "a cluster": 0} {
		c := claim(object, naming.Apply, "j")
		for _, test := range []struct {
			name          string
			before, since bool // somebody else is admitted with the same claim
			given         bool
		}{
			{"alone", false, false, true},
			{"another was admitted before", true, false, false},
			{"another was admitted since", false, true, false},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				w := newWorld()
				if test.before {
					enter(t, gateOf(w), c)
				}
				a := enter(t, gateOf(w), c)
				if test.since {
					enter(t, gateOf(w), c)
				}
				held := len(w.leases)
				given, err := gateOf(w).GiveBack(t.Context(), a)
				if given != test.given || err != nil {
					t.Errorf("given back: %t, error %v; want %t", given, err, test.given)
				}
				if test.given {
					held = 0
				}
				if len(w.leases) != held {
					t.Errorf("%d leases are left, want %d", len(w.leases), held)
				}
			})
		}
	}
}

// An admission that took nothing gives nothing back.
func TestGiveBackOfNothing(t *testing.T) {
	w := newWorld()
	enter(t, gateOf(w), claim(1, naming.Apply, "a"))
	for _, a := range []lease.Admission{{}, enter(t, gateOf(w), claim(1, naming.Apply, "b"))} {
		if given, err := gateOf(w).GiveBack(t.Context(), a); given || err != nil || len(w.leases) != 1 {
			t.Errorf("given back: %t, error %v, %d leases are left", given, err, len(w.leases))
		}
	}
}
