package launch

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// Decide says what a pass does. It is a pure function; the first rule that applies wins: close the books, leave a
// running Job alone, then everything that speaks against a new one.
func Decide(o Observed) Decision {
	for _, rule := range []func(Observed) *Decision{
		bookkeeping, following, resting, cleaning, doubting, waiting,
	} {
		if d := rule(o); d != nil {
			return *d
		}
	}
	d := Decision{Action: Start, Reason: ReasonDue, Message: o.due(), Attempt: o.attempt(), LockVersion: "none"}
	if o.Lock != nil {
		d.LockVersion = o.Lock.Lock.Version()
		if o.Lock.Verdict == lock.Stale {
			d.ForceUnlock = o.Lock.Lock.ID()
		}
	}
	return d
}

func (o Observed) due() string {
	if o.unproven() {
		return "destroy is due again: the state is encrypted, and a destroy that finds nothing shows that it is empty"
	}
	return fmt.Sprintf("%s is due", o.Desired.Op)
}

// bookkeeping comes first, even for a paused object: a result must not be lost, and no Job may start before the
// last one's is known.
func bookkeeping(o Observed) *Decision {
	var done []Run
	for _, r := range o.Runs {
		if r.Finished && !r.Booked && !r.podRuns() {
			done = append(done, r)
		}
	}
	if len(done) == 0 {
		return nil
	}
	return &Decision{Action: Book, Reason: ReasonFinished, Message: "job " + done[0].Name + " has finished", Book: done}
}

func following(o Observed) *Decision {
	for i, r := range o.Runs {
		switch {
		case !r.Finished:
			return &Decision{Action: Follow, Reason: ReasonRunning, Message: progress(r), After: followAfter, Run: &o.Runs[i]}
		case r.podRuns():
			return &Decision{Action: Follow, Reason: ReasonPodEnding, Message: "a pod of job " + r.Name + " is still ending", After: podAfter, Run: &o.Runs[i]}
		}
	}
	return nil
}

// progress says what a running Job does, and what keeps it from starting.
func progress(r Run) string {
	text := "job " + r.Name + " runs"
	if len(r.Pods) == 0 {
		text = "job " + r.Name + " has no pod yet"
	}
	for _, p := range r.Pods {
		if p.Waiting != "" {
			text += fmt.Sprintf("; pod %s waits: %s %s", p.Name, p.Waiting, p.Message)
		}
	}
	return strings.TrimSpace(text)
}

// resting is when no Job is to be started.
func resting(o Observed) *Decision {
	switch {
	case o.Desired.Paused:
		return &Decision{Action: Idle, Reason: ReasonPaused, Message: "the object is paused"}
	case o.State.Orphaned:
		return &Decision{Action: Repair, Reason: ReasonOrphaned, Message: "chunks of the state have no owner"}
	case o.Desired.Op == "":
		return &Decision{Action: Idle, Reason: ReasonNothingDesired}
	case o.Desired.Op != naming.Destroy && o.done():
		return &Decision{Action: Idle, Reason: ReasonDone, Message: fmt.Sprintf("%s is done", o.Desired.Op)}
	}
	return nil
}

// doubting is what a person has to clear up before a Job may run.
func doubting(o Observed) *Decision {
	refuse := func(reason, format string, args ...any) *Decision {
		return &Decision{Action: Refuse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if err := o.Template.Validate(); err != nil {
		return refuse(ReasonInvalidTemplate, "%v", err)
	}
	if o.Template.Runtime == RuntimeTofu && o.State.Summary != nil && o.State.Summary.Chunks > 1 {
		return refuse(ReasonChunkedState, "the state of %s is in %d Secrets, which OpenTofu cannot read: use a Terraform image, or make the state smaller",
			o.Object, o.State.Summary.Chunks)
	}
	reason, bad := untrusted(o)
	if o.Desired.Op == naming.Restore && reason != state.Mislabelled {
		if o.Copy.Err != nil {
			return refuse(o.Copy.Reason, "%v", o.Copy.Err)
		}
		return nil // it is the way out of what follows
	}
	if bad {
		return refuse(string(reason), "%v", o.State.Err)
	}
	if r := o.unsaved(); r != nil && o.Desired.Op != naming.Plan {
		return refuse(ReasonStateUnsaved, "restore the state, or delete job %s once the state is right: that job could not save it where it belongs: %s",
			r.Name, r.Outcome.whereabouts())
	}
	if r := newest(o.ofDesired()); r != nil && r.Approval == o.Desired.Approval.mark() &&
		(r.verdict() == Blocked || r.verdict() == PlanChanged) {
		return refuse(ReasonNeedsApproval, "job %s: %s", r.Name, r.Outcome.Message)
	}
	return nil
}

// untrusted reports why no operation may build on the state. One that is not there yet is no reason, and neither is an
// encrypted one: the runtime has the key.
func untrusted(o Observed) (state.Reason, bool) {
	var reason state.Reason
	if !errors.As(o.State.Err, &reason) || reason == state.Encrypted {
		return "", false
	}
	if reason == state.NotFound && o.applied() {
		reason = state.Lost
	}
	if o.State.Unfilled && !o.applied() {
		return reason, false
	}
	return reason, reason != state.NotFound
}

func newest(runs []Run) *Run {
	if len(runs) == 0 {
		return nil
	}
	return &runs[len(runs)-1]
}

// waiting is what time will clear up.
func waiting(o Observed) *Decision {
	n, last := failures(o.ofDesired())
	if left := last.Add(Backoff(n)).Sub(o.Now); n > 0 && left > 0 {
		return &Decision{
			Action: Wait, Reason: ReasonBackingOff, After: left,
			Message: fmt.Sprintf("%s failed %d times: next attempt in %s", o.Desired.Op, n, left.Round(time.Second)),
		}
	}
	if o.Lock != nil && o.Lock.Verdict == lock.Foreign && !o.WaitForForeignLock {
		return nil // the Job waits
	}
	return held(o)
}

// held waits for a lock that no Job can be handed.
func held(o Observed) *Decision {
	if o.Lock == nil {
		return nil
	}
	holder := o.Lock.Lock.Info.String()
	switch o.Lock.Verdict {
	case lock.Alive:
		return &Decision{Action: Wait, Reason: ReasonLockAlive, After: lockAfter, Message: "waiting until the lock is free; a pod of the object's own holds it: " + holder}
	case lock.Foreign:
		return &Decision{Action: Wait, Reason: ReasonLockForeign, After: lockAfter, Message: "waiting until the lock is free; its holder is none of the object's Jobs, and keeps it: " + holder}
	}
	return nil
}
