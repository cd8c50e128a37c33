package result

// Kind says at which point of a run the error is.
type Kind string

// The kinds of errors.
const (
	// KindImageLayout: the image lacks a module or a runtime; nothing ran.
	KindImageLayout Kind = "image-layout"
	// KindStep: a step failed, or what precedes the first one.
	KindStep Kind = "step"
	// KindInterrupted: a step failed because the run was told to stop.
	KindInterrupted Kind = "interrupted"
	// KindBlocked: the plan deletes or replaces, and nobody approved that.
	KindBlocked Kind = "blocked"
	// KindPlanChanged: the plan is not the one that was approved.
	KindPlanChanged Kind = "plan-changed"
)

// Reason says more finely why a step failed. It is empty when nothing is known.
type Reason string

// The reasons known today.
const (
	// ReasonConfig: the module, its variables or the backend's settings are wrong.
	ReasonConfig Reason = "config"
	// ReasonProvider: a provider refused or failed.
	ReasonProvider Reason = "provider"
	// ReasonLocked: another holds the state's lock, and the wait ran out.
	ReasonLocked Reason = "locked"
	// ReasonLockLost: someone force-unlocked the lock of this run. The state
	// was saved all the same.
	ReasonLockLost Reason = "lock-lost"
	// ReasonRBAC: the API server forbade a request.
	ReasonRBAC Reason = "rbac"
	// ReasonCredentials: the state server refused the user name and the password, or this user.
	ReasonCredentials Reason = "credentials"
	// ReasonQuota: a quota of the namespace is used up.
	ReasonQuota Reason = "quota"
	// ReasonRegistry: a registry did not answer, or answered with a fault of its own.
	ReasonRegistry Reason = "registry"
	// ReasonBackend: the backend or the API server cannot be reached.
	ReasonBackend Reason = "backend"
	// ReasonStateWrite: the runtime could not save the state; [State] says
	// where it is now.
	ReasonStateWrite Reason = "state-write"
	// ReasonDeadline: the run's own deadline passed.
	ReasonDeadline Reason = "deadline"
	// ReasonKilled: a child died of SIGKILL, probably for want of memory, or said
	// that it had none.
	ReasonKilled Reason = "killed"
	// ReasonCrashed: a child ended without a word of how its step ended, so that
	// it may have saved nothing.
	ReasonCrashed Reason = "crashed"
	// ReasonDisk: the disk of the working directory is full.
	ReasonDisk Reason = "disk"
	// ReasonUsage: a flag, an operation or a value is not known.
	ReasonUsage Reason = "usage"
)

// Outcome says what a force-unlock found.
type Outcome string

// The outcomes of a force-unlock.
const (
	// OutcomeReleased: the lock was held under the ID and is free now.
	OutcomeReleased Outcome = "released"
	// OutcomeAlreadyUnlocked: nobody held the lock.
	OutcomeAlreadyUnlocked Outcome = "already-unlocked"
	// OutcomeHeldByOther: another holds the lock; it was left alone.
	OutcomeHeldByOther Outcome = "held-by-other"
	// OutcomeUnsupported: the backend cannot unlock by such an ID.
	OutcomeUnsupported Outcome = "unsupported"
)

// Saved says how the state of the run was saved.
type Saved string

// The ways in which a state is saved, or is not.
const (
	// SavedNormally: the runtime saved it itself.
	SavedNormally Saved = "saved"
	// SavedPushed: the runner pushed it after the runtime could not.
	SavedPushed Saved = "pushed"
	// SavedRescued: it is in a rescue set of Secrets.
	SavedRescued Saved = "rescued"
	// SavedRescueDir: it is a file in the rescue directory.
	SavedRescueDir Saved = "rescue-dir"
	// SavedLost: it could not be saved anywhere that outlives the pod.
	SavedLost Saved = "lost"
)
