package naming

import (
	"fmt"
	"slices"
)

// Op is an operation that a Job runs on one state.
type Op string

// The operations of spec/runner.md. Their names hold no hyphen, so that a Job
// name can be taken apart from its end.
const (
	Apply   Op = "apply"
	Destroy Op = "destroy"
	Refresh Op = "refresh"
	Drift   Op = "drift"
	Plan    Op = "plan"
	Restore Op = "restore"
)

// Ops returns every operation.
func Ops() []Op { return []Op{Apply, Destroy, Refresh, Drift, Plan, Restore} }

// ParseOp returns the operation called s, or an error that lists the known ones.
func ParseOp(s string) (Op, error) {
	if op := Op(s); slices.Contains(Ops(), op) {
		return op, nil
	}
	return "", fmt.Errorf("operation %q is unknown: use one of %v", s, Ops())
}
