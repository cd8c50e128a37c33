package launch

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// Object is what a pass has to know of one object. A controller implements it over its own type. The
// answers must not change during a pass.
type Object interface {
	// Identity is what all names are made of.
	Identity() naming.Object
	// Reference is the owner of the Jobs and whom events are about: apiVersion, kind, name and UID. One
	// without a UID owns nothing, and events are about the Job instead.
	Reference() corev1.ObjectReference
	// Desired is what shall be done.
	Desired() Desired
	// Template is how its Jobs look.
	Template() Template
	// Files returns the rendered root (main.tf.json, terraform.tfvars.json and so on) for the desired
	// operation. It is called only when a Job is about to be created.
	Files(ctx context.Context) (map[string][]byte, error)
}

// Desired is what shall be done with an object, as of now.
type Desired struct {
	// Op is the operation; empty when nothing is to be done. The operation apply is due while the
	// state carries another InputsHash; the other ones are due once for every InputsHash and Tick.
	Op naming.Op
	// InputsHash is that of state.Inputs, for the inputs that Files renders. Empty when the inputs are
	// not hashed: then an apply is due once for every Tick.
	InputsHash string
	// Tick tells two runs of the same inputs apart: the time of a scheduled drift check, the nonce of
	// a retry.
	Tick string
	// Once says that no attempt follows a failed one.
	Once bool
	// Paused says that nothing may be started. What runs goes on, and is booked.
	Paused bool
	// Applied says that the object has applied before, so that a state that is missing is lost.
	Applied bool
	// Approval is what a person has allowed.
	Approval Approval
	// Restore is what the operation restore restores.
	Restore Restore
}

// Approval is what a person has allowed (spec/runner.md, "Approvals").
type Approval struct {
	// GuardDeletes stops an apply that deletes or replaces.
	GuardDeletes bool
	// AllowDeletesHash is the inputs hash for which deletes are allowed all the same.
	AllowDeletesHash string
	// ExpectPlan is the hash of the only plan that may be applied.
	ExpectPlan string
}

// Restore names a backup or rescue set of the object.
type Restore struct {
	// Set is the name of its first Secret, backup.Set.Name.
	Set string
	// Lineage is the set's own, given by a person who means to replace a state of another lineage. Otherwise empty.
	Lineage string
}
