package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// ofJobs tells of the last Job, and of every other one that runs.
func (s observed) ofJobs() []finding {
	if len(s.runs) == 0 {
		return []finding{{Level: fine, Text: "none"}}
	}
	var all []finding
	for i, r := range s.runs {
		switch {
		case !r.Finished:
			all = append(all, s.running(r))
		case i == len(s.runs)-1, launch.Unsaved(s.runs, i):
			all = append(all, s.ended(r))
		}
	}
	return all
}

// running tells of a Job that has not finished.
func (s observed) running(r launch.Run) finding {
	namespace := s.object.Namespace
	for _, p := range r.Pods {
		if p.Waiting != "" {
			return finding{Level: problem, Text: fmt.Sprintf("%s does not start: pod %s: %s: %s", r.Name, p.Name, p.Waiting, p.Message),
				Next: fmt.Sprintf("%s describe pod -n %s %s", s.kubectl, namespace, p.Name)}
		}
	}
	if len(r.Pods) == 0 {
		return finding{Level: note, Text: r.Name + " has no pod", Next: fmt.Sprintf("%s describe job -n %s %s", s.kubectl, namespace, r.Name)}
	}
	return finding{Level: fine, Text: r.Name + " runs", Next: s.logs(r)}
}

func (s observed) logs(r launch.Run) string {
	return fmt.Sprintf("%s logs -n %s job/%s", s.kubectl, s.object.Namespace, r.Name)
}

// outcome is the command that shows how a Job ended, whether or not its pod is there.
func (s observed) outcome(r launch.Run) string {
	return fmt.Sprintf("%s launch attach -n %s %s", s.captf, s.object.Namespace, r.Name)
}

// ended tells of the last Job.
func (s observed) ended(r launch.Run) finding {
	o := *cmp.Or(r.Outcome, &launch.Outcome{})
	text := r.Name + ": " + string(o.Verdict)
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	if message, _, _ := strings.Cut(strings.TrimSpace(o.Message), "\n"); message != "" {
		text += ": " + message
	}
	switch o.Verdict {
	case launch.Succeeded:
		return finding{Level: fine, Text: text}
	case launch.StateUnsaved:
		return s.stateUnsaved(r, o, text)
	case launch.Blocked, launch.PlanChanged:
		return finding{Level: problem, Text: text + "; a person has to approve its plan", Next: s.logs(r)}
	case launch.Interrupted:
		return s.interrupted(r, o, text)
	}
	return finding{Level: problem, Text: text, Next: s.afterFailure(r, o)}
}

// stateUnsaved tells of a Job after which nothing may run.
func (s observed) stateUnsaved(r launch.Run, o launch.Outcome, text string) finding {
	f := finding{Level: problem, Text: text + "; nothing may run before its state is restored", Next: s.command("state rescue")}
	switch res := o.Result; {
	case result.TooLarge(o.Message):
		f.Text = text + "; a Secret has no room for it, so a restore fails in the same way: nothing may run before it is smaller, or kept elsewhere"
	case res == nil || res.State == nil:
	case res.State.Where == "" && res.Unsaved != nil:
		f.Text, f.Next = text+"; nothing may run before they are in the state, or gone: then delete the Job", s.logs(r)
	case res.State.Saved == result.SavedLost:
		f.Text, f.Next = text+"; nothing may run before what only it knew is imported, or gone: then delete the Job", s.outcome(r)
	}
	return f
}

// tooLarge reports whether a Job could not save a state because of its size, after which nothing was restored.
func (s observed) tooLarge() bool {
	for i, r := range s.runs {
		if r.Outcome != nil && launch.Unsaved(s.runs, i) && result.TooLarge(r.Outcome.Message) {
			return true
		}
	}
	return false
}

// interrupted tells of a Job whose pod, with its log, is mostly gone. What a person launched nobody tries again.
func (s observed) interrupted(r launch.Run, o launch.Outcome, text string) finding {
	next, begun := s.outcome(r), o.Result != nil || !o.Untouched
	if !begun {
		text += "; it had not begun"
		next = fmt.Sprintf("%s get events -n %s --sort-by=.lastTimestamp | grep %s", s.kubectl, s.object.Namespace, r.Name)
	}
	if r.Owner.UID != "" {
		return finding{Level: note, Text: text + "; it is tried again", Next: next}
	}
	again := s.command("launch "+string(r.Op), "--image IMAGE -f ROOT")
	if r.Op == naming.Restore {
		again = s.command("launch restore", "--image IMAGE -f ROOT --backup NAME")
	}
	if !begun { // its image, say: the same command would wait in the same way
		return finding{Level: note, Text: text + ": see what kept it, and launch it again", Next: "look first: " + next + "; then: " + again}
	}
	return finding{Level: note, Text: text + "; launch it again", Next: again + " (what happened: " + next + ")"}
}

// afterFailure is the command for a reason.
func (s observed) afterFailure(r launch.Run, o launch.Outcome) string {
	switch o.Reason {
	case string(result.ReasonLocked):
		return s.command("lock show")
	case string(result.ReasonRBAC):
		return s.kubectl + " get rolebinding -n " + s.object.Namespace + " -o wide"
	case string(result.ReasonQuota):
		return s.kubectl + " describe quota -n " + s.object.Namespace
	case launch.ReasonOOMKilled:
		return fmt.Sprintf("%s describe job -n %s %s, and raise the memory limit", s.kubectl, s.object.Namespace, r.Name)
	}
	return s.logs(r)
}
