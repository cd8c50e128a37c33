package result

// Exit codes of the runner, see "Commands" in spec/runner.md.
const (
	// ExitDone: done, or there was nothing to do.
	ExitDone = 0
	// ExitFailed: the same inputs will fail again.
	ExitFailed = 1
	// ExitUsage: the command line is wrong.
	ExitUsage = 2
	// ExitRetry: try again later.
	ExitRetry = 3
	// ExitPerson: a person is needed.
	ExitPerson = 4
)

// ExitCode returns the exit code that the result stands for. A state that is
// not where it belongs outweighs everything else. A partial result without an
// error was left by a runner that was killed, which is [ExitRetry]; no result
// at all (nil) is [ExitFailed].
func (r *Result) ExitCode() int {
	switch {
	case r == nil:
		return ExitFailed
	case r.stateAstray():
		return ExitPerson
	case r.Error != nil:
		return r.Error.exitCode()
	case r.Partial:
		return ExitRetry
	}
	return ExitDone
}

// Succeeded reports whether the run is over and nothing is left to do. It is
// false for a partial result, whatever else that says.
func (r *Result) Succeeded() bool { return r.ExitCode() == ExitDone }

// stateAstray reports whether the state is anywhere but in its backend.
func (r *Result) stateAstray() bool {
	if r.State == nil {
		// A runner that died between the failed write and the rescue.
		return r.Error != nil && r.Error.Reason == ReasonStateWrite
	}
	return r.State.Saved != SavedNormally && r.State.Saved != SavedPushed
}

func (e *Error) exitCode() int {
	switch e.Kind {
	case KindBlocked, KindPlanChanged:
		return ExitPerson
	case KindInterrupted:
		return ExitRetry
	}
	switch e.Reason {
	case ReasonUsage:
		return ExitUsage
	case ReasonLocked, ReasonRegistry, ReasonBackend, ReasonDeadline:
		return ExitRetry
	case ReasonStateWrite:
		// The state is where it belongs after all, or ExitCode had not come here.
		return ExitRetry
	}
	return ExitFailed
}
