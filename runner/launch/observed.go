package launch

import (
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
	// WaitForForeignLock says that no Job is burnt behind a lock that is not ours to release.
	WaitForForeignLock bool
}

// StateView is what is known about the state.
type StateView struct {
	// Err is why it cannot be read or trusted; errors.Is finds the state.Reason.
	Err error
	// Summary is nil for a state that cannot be read; that of an encrypted one has no outputs.
	Summary *state.Summary
	// Unfilled says that there is only a Secret without a state: what the first init of all leaves when it is killed
	// between making it and filling it. The next one fills it.
	Unfilled bool
	// Orphaned says that a chunk has no owner, or an old one.
	Orphaned bool
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

// destroyed reports whether a destroy succeeded, and nothing came after it.
func (o Observed) destroyed() bool {
	last := o.lastWriter()
	return last != nil && last.Op == naming.Destroy && last.verdict() == Succeeded && o.State.resources() == 0
}

// unsaved is the newest run whose state is not where it belongs, unless a restore came after it.
func (o Observed) unsaved() *Run {
	for i := len(o.Runs) - 1; i >= 0; i-- {
		switch r := &o.Runs[i]; {
		case r.Op == naming.Restore && r.verdict() == Succeeded:
			return nil
		case r.verdict() == StateUnsaved:
			return r
		}
	}
	return nil
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
