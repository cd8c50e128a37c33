package launch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/runner/result"
)

// Verdict is what a finished Job came to.
type Verdict string

// The verdicts.
const (
	// Succeeded: it did what it should, or there was nothing to do.
	Succeeded Verdict = "Succeeded"
	// Failed: it did not, and a later attempt is not likely to fare better. Counts for the backoff.
	Failed Verdict = "Failed"
	// Interrupted: something stopped it that is no fault of its own.
	Interrupted Verdict = "Interrupted"
	// Blocked: a guard stopped it, and a person has to decide.
	Blocked Verdict = "Blocked"
	// PlanChanged: the plan is no longer the one that was approved.
	PlanChanged Verdict = "PlanChanged"
	// StateUnsaved: the state is not where it belongs, and nothing may build on what is there.
	StateUnsaved Verdict = "StateUnsaved"
)

// Finer reasons that come from Kubernetes; the other ones are kinds and reasons of the result.
const (
	ReasonOOMKilled  = "oom-killed"
	ReasonDisruption = "disruption" // its pod was evicted, preempted or drained
	ReasonPodLost    = "pod-lost"   // its pod is gone, and nothing is left of it
	ReasonNodeLost   = "node-lost"  // its node went down under it
	ReasonKilled     = "killed"
	ReasonUnreadable = "result-unreadable"
)

// Outcome is what is known about a Job that has finished.
type Outcome struct {
	Verdict Verdict `json:"verdict"`
	// Reason is finer: a reason or kind of the result, or one of this package. Empty for a success.
	Reason string `json:"reason,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
	// Source is what the outcome is known from: pod, configmap or conditions.
	Source Source `json:"source"`
	Pod    string `json:"pod,omitempty"`
	// Untouched says that the Job never had the state's lock, so that it changed nothing.
	Untouched bool `json:"untouched,omitempty"`
	// Result is nil when the runner left none, or none that can be read.
	Result *result.Result `json:"result,omitempty"`
}

// Source is what an outcome is known from.
type Source string

// The sources, the best one first.
const (
	SourcePod        Source = "pod"        // its termination message
	SourceConfigMap  Source = "configmap"  // <job>-result, since the pod is gone
	SourceConditions Source = "conditions" // the Job's and the pod's, since there is no result
)

// Counts reports whether the outcome delays the next attempt. A run that used up its deadline does, although the
// deadline interrupted it: it would do so again.
func (o Outcome) Counts() bool {
	return o.Verdict == Failed || o.Verdict == Interrupted && o.Reason == string(result.ReasonDeadline)
}

// ExitCode is that of `captf-runner run` for this outcome. A runner that was killed cannot have known that it was its
// memory limit, which kills again.
func (o Outcome) ExitCode() int {
	switch {
	case o.Verdict == Succeeded:
		return result.ExitDone
	case o.Reason == ReasonOOMKilled:
		return result.ExitFailed
	}
	if code := o.Result.ExitCode(); o.Result != nil && code != result.ExitDone {
		return code
	}
	switch o.Verdict {
	case Interrupted:
		return result.ExitRetry
	case Blocked, PlanChanged, StateUnsaved:
		return result.ExitPerson
	}
	return result.ExitFailed
}

// Evidence is everything that tells how a Job ended.
type Evidence struct {
	Complete bool   // the Job's condition
	Deadline bool   // it failed because of activeDeadlineSeconds
	Message  string // of the condition
	Pod      string // the last one, whether or not it is still there
	PodThere bool
	// ExitCode is that of the runner's container, from the pod or from the Job's condition.
	ExitCode  *int
	OOMKilled bool
	Disrupted bool
	// NodeLost says that the kubelet found the container gone, and does not know how it ended: the node was rebooted.
	NodeLost bool
	// Document is the result, from the source.
	Document []byte
	Source   Source
	// Changes names the ConfigMap that lists what a run without a result was going to change.
	Changes string
}

// Conclude decides what a finished Job came to. The runner's own word counts most, then its exit code, then what
// Kubernetes says about the pod.
func Conclude(e Evidence) Outcome {
	o := e.conclude()
	o.Reason, o.Message = result.Cut(o.Reason, maxReason), result.Cut(o.Message, maxMessage)
	return o
}

// The limits of an outcome, in bytes. The module's code can write what passes for a result, and one that is too large
// for the Job's annotations could never be booked.
const (
	maxReason  = 64
	maxMessage = 1024
	// maxWhereabouts is for one line among others.
	maxWhereabouts = 200
)

func (e Evidence) conclude() Outcome {
	o := Outcome{Pod: e.Pod, Source: e.Source}
	res, err := result.Decode(e.Document)
	if err != nil {
		o.Source = SourceConditions
		return e.withoutResult(o, err)
	}
	o.Result = res
	if e.Complete && res.Error == nil {
		o.Verdict = Succeeded // a runner that could not write its last word
		return o
	}
	o.Verdict, o.Reason, o.Message = fromResult(res)
	if o.Verdict == "" {
		return e.killed(o)
	}
	if o.Verdict == Interrupted && o.Reason == "" && e.Deadline {
		o.Reason = string(result.ReasonDeadline)
	}
	if o.Reason == string(result.ReasonDeadline) {
		o.Message = late(res.Error)
	}
	return o
}

// late says where the deadline ended a run. What the runtime has printed by then need not tell.
func late(e *result.Error) string {
	where := "before its first step"
	if e.Step != "" {
		where = "in step " + e.Step
	}
	return strings.TrimSuffix(fmt.Sprintf("the deadline ended it %s: %s", where, e.Tail), ": ")
}

// fromResult has no verdict for a document that was left by a runner that was killed.
func fromResult(r *result.Result) (v Verdict, reason, message string) {
	if r.Error != nil {
		reason, message = string(r.Error.Reason), r.Error.Tail
	}
	switch {
	case r.Partial && r.Error == nil && r.ExitCode() != result.ExitPerson:
		return "", "", ""
	case r.Succeeded():
		return Succeeded, "", ""
	case r.ExitCode() == result.ExitPerson && (r.Error == nil || r.Error.Kind != result.KindBlocked && r.Error.Kind != result.KindPlanChanged):
		return StateUnsaved, string(result.ReasonStateWrite), whereState(r, message)
	case r.Error.Kind == result.KindInterrupted:
		return Interrupted, reason, message
	case r.Error.Kind == result.KindBlocked:
		return Blocked, string(result.KindBlocked), message
	case r.Error.Kind == result.KindPlanChanged:
		return PlanChanged, string(result.KindPlanChanged), message
	case reason == "":
		reason = string(r.Error.Kind)
	}
	return Failed, reason, message
}

// whereState says where a state is that is not where it belongs.
func whereState(r *result.Result, message string) string {
	switch u := r.Unsaved; {
	case (r.State == nil || r.State.Where == "") && u != nil && len(u.Resources) > 0:
		return fmt.Sprintf("%d %s may be in no state, such as %s, import or delete them: %s", u.Count, plural.Of("resource", u.Count), u.Resources[0].Address, message)
	case r.State == nil || r.State.Where == "":
		return message
	case r.Partial && r.State.Saved == result.SavedLost:
		return "the runner was killed while it rescued the state, which may be lost"
	}
	return strings.TrimSuffix(fmt.Sprintf("the state is in %s: %s", place(r.State), message), ": ")
}

// place is where an unsaved state is. What is called lost is in the working directory, which the kubelet removes as soon
// as the pod has ended, if it is an emptyDir.
func place(s *result.State) string {
	if s.Saved == result.SavedLost {
		return s.Where + " (gone with the pod, unless that is a volume)"
	}
	return s.Where
}

// killed concludes for a runner that did not come to its end. It failed if the next attempt is likely to end in the
// same way, or nothing tells that it is not: its memory limit will not have grown, and whatever killed it beside a
// living pod may still be there. So the next attempt waits. It was interrupted if the pod was ended from outside,
// which says nothing about the run: evicted, preempted, drained, deleted, or gone with its node. Then the next
// attempt starts at once. The deadline is in between: it interrupts, and counts, see [Outcome.Counts].
func (e Evidence) killed(o Outcome) Outcome {
	o.Message = e.Message
	switch {
	case e.OOMKilled:
		o.Verdict, o.Reason = Failed, ReasonOOMKilled
		o.Message = "the container used more memory than its limit: raise the limit"
	case e.Deadline:
		o.Verdict, o.Reason = Interrupted, string(result.ReasonDeadline)
	case e.Disrupted:
		o.Verdict, o.Reason = Interrupted, ReasonDisruption
	case e.NodeLost:
		o.Verdict, o.Reason = Interrupted, ReasonNodeLost
	case !e.PodThere:
		o.Verdict, o.Reason = Interrupted, ReasonPodLost
	default:
		o.Verdict, o.Reason = Failed, ReasonKilled
	}
	if e.Changes != "" {
		o.Message = strings.TrimLeft(o.Message+"; what it was going to change is listed in the ConfigMap "+e.Changes, "; ")
	}
	return o
}

// withoutResult concludes from the exit code, where there is one.
func (e Evidence) withoutResult(o Outcome, err error) Outcome {
	switch {
	case e.Complete:
		o.Verdict = Succeeded
		return o
	case e.ExitCode == nil || *e.ExitCode > result.ExitPerson || *e.ExitCode < 0:
		return e.killed(o)
	}
	o.Reason, o.Message = ReasonUnreadable, err.Error()
	switch *e.ExitCode {
	case result.ExitRetry:
		o.Verdict = Interrupted
	case result.ExitPerson:
		o.Verdict = StateUnsaved // the worst that the code can stand for
	default:
		o.Verdict = Failed
	}
	return o
}

// whereabouts tells in a few words where an unsaved state is.
func (o Outcome) whereabouts() string {
	if o.Result != nil && o.Result.State != nil && o.Result.State.Where != "" {
		return "it is in " + place(o.Result.State)
	}
	return result.Cut(strings.Join(strings.Fields(o.Message), " "), maxWhereabouts)
}

// encode is the outcome as an annotation. The result in it is the short one: the long one may be larger than all
// annotations together.
func (o Outcome) encode() (string, error) {
	stored := struct {
		Outcome
		Result json.RawMessage `json:"result,omitempty"`
	}{Outcome: o}
	if o.Result != nil {
		stored.Result = result.Encode(o.Result)
	}
	text, err := json.Marshal(stored)
	return string(text), err
}

// decodeOutcome reads what encode wrote, of this version or another one: a result that cannot be read is left out.
func decodeOutcome(text string) (Outcome, error) {
	var stored struct {
		Outcome
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return Outcome{}, fmt.Errorf("annotation %s: %w", AnnotationOutcome, err)
	}
	o := stored.Outcome
	o.Result, _ = result.Decode(stored.Result)
	return o, nil
}
