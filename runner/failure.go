package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// What can ask a run to stop.
var (
	// errDeadline is the stop cause of a run that used up its --deadline.
	errDeadline = errors.New("deadline reached")
	// ErrSignal is the stop cause of a run that got SIGTERM or SIGINT.
	ErrSignal = errors.New("signal received")
)

// failure is an error that ends a run, with what the result says about it.
type failure struct {
	kind      result.Kind
	reason    result.Reason
	step      string
	err       error  // for the log: what happened, to which object, what to do
	tail      string // what the runtime reported; empty: err's own text
	resources []result.ErrorResource
	unsaved   bool // the runtime could not save its state
}

func (f *failure) Error() string {
	if f.step == "" {
		return f.err.Error()
	}
	return f.step + ": " + f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// asFailure gives every error its place in the result.
func asFailure(err error, stop *runtime.Stop) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, errUsage):
		return &failure{kind: result.KindStep, reason: result.ReasonUsage, err: err}
	case errors.Is(err, errLayout), errors.Is(err, runtime.ErrNotExecutable):
		return &failure{kind: result.KindImageLayout, reason: result.ReasonConfig, err: err}
	case stop.Cause() != nil || errors.Is(err, context.Canceled):
		return interrupted(stop, "", "the run was asked to stop")
	}
	f = &failure{kind: result.KindStep, reason: result.ReasonConfig, err: err}
	if isDiskFull(err) {
		f.reason = result.ReasonDisk
	}
	return f
}

func interrupted(stop *runtime.Stop, step, what string) *failure {
	f := &failure{kind: result.KindInterrupted, step: step, err: fmt.Errorf("%s: %w", what, causeOf(stop))}
	if errors.Is(stop.Cause(), errDeadline) {
		f.reason = result.ReasonDeadline
	}
	return f
}

func causeOf(stop *runtime.Stop) error {
	if cause := stop.Cause(); cause != nil {
		return cause
	}
	return context.Canceled
}

// stepFailure makes the error of a step that ended with a code that is not accepted.
func (r *run) stepFailure(name string, exit runtime.Exit, out *runtime.Output) *failure {
	if exit.Asked && r.stop.Cause() != nil && causedByStop(out) {
		f := interrupted(r.stop, name, "the step was interrupted")
		f.tail = f.err.Error() + "\n" + out.Tail() // which may be its banner alone
		return f
	}
	class := classOf(name, exit, out, r.stop.Cause() != nil, r.child.gaveUp)
	f := &failure{kind: result.KindStep, reason: result.Reason(class), step: name, tail: out.Tail(), unsaved: class == runtime.FailureStateWrite}
	wayOut := adviceOn(class, name, out, r.opts.Local)
	f.err = fmt.Errorf("exit %d (%s): %s%s", exit.Code, class, wayOut, r.causeText(class, out))
	if name := exit.SignalName(); name != "" {
		f.err = fmt.Errorf("ended by %s: %s", name, wayOut)
	}
	if class == runtime.FailureBackend && errors.Is(r.child.gaveUp, errUnanswered) {
		f.err = fmt.Errorf("%w to a request of the step, which was ended %s after its begin: --lock-timeout is %s; try again when it answers",
			errUnanswered, exit.Duration.Round(time.Second), r.budget.total)
		f.tail = strings.TrimSpace(f.err.Error() + "\n" + out.Tail())
	}
	f.resources = failedResources(out)
	return f
}

// classOf is the class of a step that failed. The runner gave it up if that has a reason, and was stopped or not.
func classOf(step string, exit runtime.Exit, out *runtime.Output, stopped bool, gaveUp error) runtime.Failure {
	class := runtime.Classify(exit, out, step == stepInit)
	if exit.Asked && !stopped && len(out.Changes) == 0 {
		class = runtime.FailureLocked // it waited longer than it was told to
		if errors.Is(gaveUp, errUnanswered) {
			class = runtime.FailureBackend
		}
	}
	if step == stepStatePush && class == runtime.FailureStateWrite && errors.Is(pushError(out.Text()), errForbidden) {
		class = runtime.FailureRBAC // of a restore: what it could not save is where it came from
	}
	return class
}

// maxCause bounds what the last line quotes of a runtime's message, in bytes.
const maxCause = 300

// causeText quotes the first error where the way out speaks of it, and it is about no resource. It goes on from a sentence.
func (r *run) causeText(class runtime.Failure, out *runtime.Output) string {
	switch class {
	case runtime.FailureRBAC, runtime.FailureQuota, runtime.FailureBackend, runtime.FailureStateWrite:
	default:
		return ""
	}
	errors := out.Diagnostics()
	if len(errors) == 0 {
		return ""
	}
	text := result.Plain(r.redact.String(errors[0].Text())) // before it is cut
	return ": " + result.Cut(strings.Join(strings.Fields(text), " "), maxCause)
}

// failedResources are those that an error names, and those that failed without one of their own.
func failedResources(out *runtime.Output) []result.ErrorResource {
	var list []result.ErrorResource
	nameless := ""
	for _, d := range out.Errors {
		if d.Address != "" {
			list = append(list, result.ErrorResource{Address: d.Address, Summary: d.Summary})
		} else {
			nameless = cmp.Or(nameless, d.Summary)
		}
	}
	for _, c := range out.Unanswered() {
		if c.Failed {
			list = append(list, result.ErrorResource{Address: c.Address, Summary: nameless})
		}
	}
	return list
}

// advice is the way out of each class of failure.
var advice = map[runtime.Failure]string{
	runtime.FailureConfig:   "correct the module or its inputs",
	runtime.FailureProvider: "a provider refused or failed, see its message",
	runtime.FailureLocked:   "another run holds the lock, try again when it is free",
	runtime.FailureLockLost: "somebody released the lock of this run while it was working; its state was saved",
	runtime.FailureRBAC:     "grant the ServiceAccount the verb and resource that the message names",
	runtime.FailureCredentials: "the state server refused the user or the password, " +
		"correct username and password of --backend-config or CAPTF_BACKEND_CONFIG, or what this user may do there",
	runtime.FailureQuota:      "raise the quota that the message names, or remove what is not needed",
	runtime.FailureRegistry:   "a registry did not answer, try again later",
	runtime.FailureBackend:    "where the state lives could not be reached, try again later",
	runtime.FailureStateWrite: "the runtime could not save the state where it belongs",
	runtime.FailureKilled:     "the runtime was killed, probably for its memory: raise the limit",
	runtime.FailureCrashed:    "the runtime ended without saying how: see its last words",
	runtime.FailureDisk:       "no room in the working directory: give it more, or name another with --workdir",
}

// adviceOn is the way out of the failure of a step.
func adviceOn(class runtime.Failure, step string, out *runtime.Output, local bool) string {
	switch {
	case class == runtime.FailureRBAC && !strings.Contains(out.Tail(), "forbidden"):
		return "the API server does not know the token, or it has expired: give the run a valid one"
	case class == runtime.FailureConfig && step == stepInit && !local:
		return advice[class] + ", or the settings of --backend-config"
	}
	return advice[class]
}

// byStop are the messages of the runtimes themselves about an interruption.
var byStop = pattern(`^(execution halted|[Oo]peration cancell?ed|Request cancell?ed|Error acquiring the state lock|Plugin did not respond)`)

// cancelled is how a provider, a provisioner, a client or init says that it obeyed. Text may be wrapped.
var cancelled = pattern(`\bcontext\s+canceled\b|rpc\s+error:\s+code\s+=\s+Cancell?ed\b|:\s+signal:\s+(killed|interrupt)\b|` +
	`\binstallation\s+was\s+canceled\s+by\s+an\s+interrupt\s+signal\b`)

// causedByStop tells whether nothing failed but by the interruption, with SIGKILL at its end or without. Any
// other error while a run drains is a failure of its own. A step that prints no events works on one thing, and lists
// beside the interruption what was underway.
func causedByStop(out *runtime.Output) bool {
	if len(out.Errors) == 0 && cancelled().MatchString(out.Text()) {
		return true
	}
	return !slices.ContainsFunc(out.Diagnostics(), func(d runtime.Diagnostic) bool {
		return !byStop().MatchString(d.Summary) && !cancelled().MatchString(d.Text())
	})
}

func changesOf(s plan.Summary) []result.Change {
	changes := make([]result.Change, len(s.Resources))
	for i, c := range s.Resources {
		changes[i] = result.Change{Address: c.Address, Action: c.Action}
	}
	return changes
}
