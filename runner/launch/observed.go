package launch

import (
	"slices"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// Observed is everything that a decision is made from.
type Observed struct {
	Now      time.Time
	Object   naming.Object
	Desired  Desired
	Template Template
	// Ownerless says that the object has no UID: it cannot own its state, so that no inputs hash is noted on it.
	Ownerless bool
	// Runs are the object's retained Jobs, oldest first.
	Runs []Run
	// Lock is nil while a Job is active or not booked: only then is it looked at.
	Lock  *lock.Finding
	State StateView
	// Copy is looked at when a restore is due.
	Copy CopyView
	// WaitForForeignLock says that no Job is burnt behind a lock that is not ours to release.
	WaitForForeignLock bool
}

// StateView is what is known about the state.
type StateView struct {
	// Err is why it cannot be read or trusted; errors.Is finds the state.Reason.
	Err error
	// Summary is nil for a state that cannot be read; that of an encrypted one has no outputs.
	Summary *state.Summary
	// Version is chunks.Set.Version, empty when there is no Secret.
	Version string
	// Unfilled says that there is only a Secret without a state: what the first init of all leaves when it is killed
	// between making it and filling it. The next one fills it.
	Unfilled bool
	// Orphaned says that a chunk has no owner, or an old one.
	Orphaned bool
}

// CopyView is the backup or rescue set that is to be restored.
type CopyView struct {
	// Err is why it cannot be, and Reason the same in one word.
	Err    error
	Reason string
	// Chunks are its Secrets, in order, and Resources the number of managed resources in them.
	Chunks    []string
	Resources int
}

// inputsHash is what the state was made from.
func (s StateView) inputsHash() string {
	if s.Summary == nil {
		return ""
	}
	return s.Summary.InputsHash
}

// resources is the number of managed resources, 0 without a state.
func (s StateView) resources() int {
	if s.Summary == nil {
		return 0
	}
	return s.Summary.Resources
}

// ofDesired are the runs of what is desired, oldest first.
func (o Observed) ofDesired() []Run {
	var runs []Run
	for _, r := range o.Runs {
		if r.same(o.Desired) {
			runs = append(runs, r)
		}
	}
	return runs
}

// lastWriter is the newest run that changed resources, or meant to.
func (o Observed) lastWriter() *Run {
	for i := len(o.Runs) - 1; i >= 0; i-- {
		if mutates(o.Runs[i].Op) {
			return &o.Runs[i]
		}
	}
	return nil
}

// applied reports whether there must be a state: the object says so, or its runs do.
func (o Observed) applied() bool {
	return o.Desired.Applied || Applied(o.Runs)
}

// Applied reports whether runs, oldest first, say that there must be a state: one has written it, and no destroy has
// succeeded since. A later attempt that failed takes nothing back.
func Applied(runs []Run) bool {
	for i := len(runs) - 1; i >= 0; i-- {
		if r := &runs[i]; mutates(r.Op) && r.verdict() == Succeeded {
			return r.Op != naming.Destroy
		}
	}
	return false
}

// unsaved is the newest run whose state is not where it belongs.
func (o Observed) unsaved() *Run {
	for i := range slices.Backward(o.Runs) {
		if Unsaved(o.Runs, i) {
			return &o.Runs[i]
		}
	}
	return nil
}

// Unsaved reports whether the state of one of these runs, oldest first, is still not where it belongs: no restore came
// after it. A later state with a higher serial says nothing: it may have been made without what that run did.
func Unsaved(runs []Run, i int) bool {
	return runs[i].verdict() == StateUnsaved && i > lastRestore(runs)
}

// lastRestore is the index of the newest restore that succeeded, -1 when there is none.
func lastRestore(runs []Run) int {
	for i, r := range slices.Backward(runs) {
		if r.Op == naming.Restore && r.verdict() == Succeeded {
			return i
		}
	}
	return -1
}

// prunable are the booked Jobs of each operation beyond the newest so many. What a decision needs stays: those whose
// state is not saved, and the restore that saved it.
func (o Observed) prunable(keep int) []Run {
	var old []Run
	restored, count := lastRestore(o.Runs), map[naming.Op]int{}
	for i, r := range slices.Backward(o.Runs) {
		count[r.Op]++
		if r.Booked && count[r.Op] > keep && !Unsaved(o.Runs, i) && i != restored {
			old = append(old, r)
		}
	}
	return old
}

// done reports whether what is desired has been done.
func (o Observed) done() bool {
	succeeded, ended := false, false
	for _, r := range o.ofDesired() {
		succeeded = succeeded || r.verdict() == Succeeded
		ended = ended || r.Outcome != nil
	}
	d := o.Desired
	switch {
	case d.Once && ended:
		return true
	case d.Op != naming.Apply || d.InputsHash == "":
		return succeeded
	}
	return o.carriesDesired() && (d.Tick == "" || succeeded)
}

// carriesDesired reports whether the state was made from the desired inputs. Where that cannot be noted on it, the Job
// that wrote it last tells.
func (o Observed) carriesDesired() bool {
	if last := o.lastWriter(); o.Ownerless && o.State.Summary != nil && last != nil {
		return last.same(o.Desired) && last.verdict() == Succeeded
	}
	return o.State.inputsHash() == o.Desired.InputsHash
}
