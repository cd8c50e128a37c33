// Package result is the document that a run leaves behind: its schema, its
// encoding into the 4096 bytes of a termination message, and reading it back.
//
// Writers start with [Open] and [File.Write]; readers start with [Decode], then
// [Result.Succeeded] or [Result.ExitCode].
//
// # Compatibility
//
// The document is a contract, see "The result" in spec/runner.md. Within
// version 1 fields may be added and kinds, reasons and outcomes may grow; none
// is removed and none changes its meaning. Decode reads what older and newer
// writers of version 1 write, and an unknown value is kept as it is.
//
// Outputs and other values are never in a result.
package result

// Version is the schema version that this package writes and reads.
const Version = 1

// Result is what is known about one run of one operation.
type Result struct {
	Version int     `json:"version"`
	Op      string  `json:"op"`
	Image   Image   `json:"image"`
	Runtime Runtime `json:"runtime"`
	Steps   []Step  `json:"steps"`
	// Error is nil when nothing failed so far.
	Error *Error `json:"error"`
	// Changes is what an apply or destroy did.
	Changes *Changes `json:"changes,omitempty"`
	Plan    *Plan    `json:"plan,omitempty"`
	// Drift is nil unless the operation looked for drift.
	Drift *Drift `json:"drift"`
	Lock  *Lock  `json:"lock,omitempty"`
	State *State `json:"state,omitempty"`
	// Unsaved names resources that the run began to change and that no saved state
	// is known to have: look for them by hand, or import them.
	Unsaved *Unsaved `json:"unsaved,omitempty"`
	Env     *Env     `json:"env,omitempty"`
	// Document names the ConfigMap, in the Job's namespace, that holds this
	// document unshortened, or is the path of a file that does.
	Document string `json:"document,omitempty"`
	// Partial is true while the run is not over. A document that still says so
	// was left by a runner that was killed.
	Partial bool `json:"partial,omitempty"`
}

// Image is the module image.
type Image struct {
	Ref string `json:"ref"`
	// ProvidersMirror says that providers came from the image's own mirror.
	ProvidersMirror bool `json:"providersMirror"`
}

// Runtime is the program that ran the steps.
type Runtime struct {
	// Command is the program and the arguments that precede a step's own.
	Command []string `json:"command"`
	Version string   `json:"version"`
}

// Step is one process of the runtime that has ended.
type Step struct {
	Name    string  `json:"name"`
	Exit    int     `json:"exit"`
	Seconds Seconds `json:"seconds"`
	// Signal is the name of the signal that ended the process, such as SIGKILL.
	Signal string `json:"signal,omitempty"`
	// Attempts is how often the step was started, when that is more than once.
	Attempts  int   `json:"attempts,omitempty"`
	MaxRSSKiB int64 `json:"maxRSSKiB,omitempty"`
}

// Changes counts resources by what an apply did to them.
type Changes struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
	Import  int `json:"import,omitempty"`
}

// Plan is what a saved plan would do.
type Plan struct {
	// Hash is the plan hash of spec/runner.md, "Approvals".
	Hash          string `json:"hash"`
	Create        int    `json:"create"`
	Update        int    `json:"update"`
	Replace       int    `json:"replace,omitempty"`
	Delete        int    `json:"delete"`
	OutputChanges int    `json:"outputChanges,omitempty"`
	Import        int    `json:"import,omitempty"`
	Move          int    `json:"move,omitempty"`
	Forget        int    `json:"forget,omitempty"`
	// Resources may be shorter than the counts say; then Truncated is true.
	Resources []Change `json:"resources,omitempty"`
	Truncated bool     `json:"truncated,omitempty"`
}

// Drift is how the real infrastructure differs from the state.
type Drift struct {
	Detected bool `json:"detected"`
	Create   int  `json:"create"`
	Update   int  `json:"update"`
	Replace  int  `json:"replace"`
	Delete   int  `json:"delete"`
	// Resources may be shorter than the counts say; then Truncated is true.
	Resources []Change `json:"resources"`
	Truncated bool     `json:"truncated,omitempty"`
}

// Change is one resource of a plan or a drift.
type Change struct {
	Address string `json:"address"`
	// Action is create, update, replace, delete, import, move or forget.
	Action string `json:"action"`
}

// Lock is what the run saw of the state's lock.
type Lock struct {
	// WaitedSeconds is the sum of the waits of all steps.
	WaitedSeconds Seconds `json:"waitedSeconds"`
	// ID, Who, Operation and Created are those of the last holder seen: another
	// run's if this one waited, its own if it was killed holding the lock.
	ID        string `json:"id,omitempty"`
	Who       string `json:"who,omitempty"`
	Operation string `json:"operation,omitempty"`
	Created   string `json:"created,omitempty"`
	// Released says that the lock was this run's own, left by a child that was
	// killed, and that the run has released it.
	Released bool `json:"released,omitempty"`
	// MaybeHeld says that the run's own lock may still be held, and that its ID
	// is not known for sure: ID is empty, or that of a lock of the same host.
	MaybeHeld bool `json:"maybeHeld,omitempty"`
	// ForceUnlock is set when a lock ID was handed down.
	ForceUnlock *ForceUnlock `json:"forceUnlock,omitempty"`
}

// ForceUnlock is what became of the lock ID that was handed down.
type ForceUnlock struct {
	ID      string  `json:"id"`
	Outcome Outcome `json:"outcome"`
}

// State is where the state of the run is.
type State struct {
	Saved   Saved   `json:"saved"`
	Serial  *uint64 `json:"serial,omitempty"`
	Lineage string  `json:"lineage,omitempty"`
	// Where names the Secrets or the file of a state that was rescued.
	Where string `json:"where,omitempty"`
}

// Unsaved is what a run that died may have left behind outside of its state.
type Unsaved struct {
	Count int `json:"count"`
	// Resources may be shorter than Count says.
	Resources []UnsavedResource `json:"resources"`
	// Planned is where the [ChangeList] of the step is: each unsaved resource is in it. It is the name of a ConfigMap
	// in the Job's namespace, or the path of a file.
	Planned string `json:"planned,omitempty"`
}

// UnsavedResource is one resource that may exist, or may have changed, without
// the state knowing.
type UnsavedResource struct {
	Address string `json:"address"`
	// Action is create, update, replace or delete.
	Action string `json:"action"`
	// ID is the real object's, when the provider reported it.
	ID string `json:"id,omitempty"`
}

// Env is what the run did to its children's environment.
type Env struct {
	// Dropped holds names only, never values.
	Dropped []string `json:"dropped"`
}

// Error is why the run failed.
type Error struct {
	Kind   Kind   `json:"kind"`
	Reason Reason `json:"reason,omitempty"`
	// Step is the name of the step that failed, empty when none had started.
	Step string `json:"step"`
	// Tail is the text of the diagnostics in order, see [Tail].
	Tail      string          `json:"tail"`
	Resources []ErrorResource `json:"resources,omitempty"`
}

// ErrorResource is a resource that failed, and in one line why.
type ErrorResource struct {
	Address string `json:"address"`
	Summary string `json:"summary"`
}
