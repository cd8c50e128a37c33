package metrics

import (
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

// other is the value of a label that is not known.
const other = "other"

func kindLabel(kind naming.Kind) string {
	if _, err := naming.ParseKind(string(kind)); err != nil {
		return other
	}
	return string(kind)
}

func opLabel(op naming.Op) string {
	if _, err := naming.ParseOp(string(op)); err != nil {
		return other
	}
	return string(op)
}

// resultLabel is succeeded, or why not: none is a Job without a result, killed one whose runner died. Text in a result
// comes from a pod, so what is not known is not taken over.
func resultLabel(r *result.Result) string {
	switch {
	case r == nil:
		return "none"
	case r.Succeeded():
		return "succeeded"
	case r.Error == nil && r.Partial:
		return "killed"
	case r.Error == nil:
		return "state-astray"
	}
	switch kind := r.Error.Kind; kind {
	case result.KindImageLayout, result.KindStep, result.KindInterrupted, result.KindBlocked, result.KindPlanChanged:
		return string(kind)
	}
	return other
}

// stepLabel knows the steps of spec/runner.md, and the one that reads a state back which a run may not have saved.
func stepLabel(step string) string {
	switch step {
	case "init", "force-unlock", "apply", "destroy", "apply-refresh-only", "plan", "show-json", "state-push", "state-list", "state-pull":
		return step
	}
	return other
}

func reasonLabel(err error) string {
	switch reason := state.ReasonOf(err); reason {
	case state.NotFound, state.Lost, state.Inconsistent, state.Corrupt, state.Encrypted, state.Mislabelled, state.Unavailable:
		return string(reason)
	}
	return other
}
