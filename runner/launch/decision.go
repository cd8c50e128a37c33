package launch

import (
	"time"

	"github.com/captf/captf-runner/runner/naming"
)

// Action is the one thing that a pass does.
type Action string

// The actions.
const (
	// Book: a Job has finished, and its books are not closed yet.
	Book Action = "Book"
	// Follow: a Job is active.
	Follow Action = "Follow"
	// Start: a Job is to be created, if the leases can be had.
	Start Action = "Start"
	// Repair: chunks of the state have no owner.
	Repair Action = "Repair"
	// Cleanup: everything is destroyed, and what held the state can go.
	Cleanup Action = "Cleanup"
	// Wait: something is due, but not yet. After says when to look again.
	Wait Action = "Wait"
	// Refuse: something is due, and a person has to do something first.
	Refuse Action = "Refuse"
	// Idle: nothing is due.
	Idle Action = "Idle"
)

// Decision is what a pass does, and why.
type Decision struct {
	Action Action
	// Reason is one word, as in a condition.
	Reason  string
	Message string
	// After is when to look again; 0 when something has to change first, or at once after Book, Start and Repair.
	After time.Duration
	// Book are the runs to book, oldest first.
	Book []Run
	// Run is the active one.
	Run *Run
	// Attempt, ForceUnlock and LockVersion are those of the Job to create.
	Attempt     int
	ForceUnlock string
	LockVersion string
}

// Reasons of decisions.
const (
	ReasonFinished         = "JobFinished"
	ReasonRunning          = "JobRunning"
	ReasonPodEnding        = "PodStillRuns"
	ReasonDue              = "OperationDue"
	ReasonDone             = "Done"
	ReasonNothingDesired   = "NothingDesired"
	ReasonPaused           = "Paused"
	ReasonOrphaned         = "StateHasNoOwner"
	ReasonDestroyed        = "Destroyed"
	ReasonInvalidTemplate  = "InvalidTemplate"
	ReasonChunkedState     = "ChunkedStateNeedsTerraform"
	ReasonBackingOff       = "BackingOff"
	ReasonLockAlive        = "StateLockedByOwnPod"
	ReasonLockForeign      = "StateLocked"
	ReasonNeedsApproval    = "ApprovalNeeded"
	ReasonStateUnsaved     = "StateUnsaved"
	ReasonCopyNotFound     = "BackupNotFound"
	ReasonCopyUnusable     = "BackupUnusable"
	ReasonCopyLineage      = "BackupOfAnotherLineage"
	ReasonPolicy           = "RefusedByPolicy"
	ReasonOtherJobAppeared = "JobsChanged"
)

const (
	followAfter  = 30 * time.Second // a watch on Jobs and pods is faster
	lockAfter    = 15 * time.Second
	podAfter     = 5 * time.Second
	leaseAfter   = 10 * time.Second // the gate wants to be asked every lease.Grace/2
	changedAfter = time.Second
)

// attempt is that of the next Job of the desired operation.
func (o Observed) attempt() int {
	names := make([]string, 0, len(o.Runs))
	for _, r := range o.Runs {
		names = append(names, r.Name)
	}
	return naming.NextAttempt(o.Object, o.Desired.Op, names)
}
