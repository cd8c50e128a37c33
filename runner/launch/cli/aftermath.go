package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/shell"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// target is the object and its namespace as a person types them.
func target(o launch.Object) string {
	id := o.Identity()
	return fmt.Sprintf("%s/%s -n %s", strings.ToLower(string(id.Kind)), id.Name, id.Namespace)
}

// clusterFlag is the flag that a command line had, which another command needs to see the object in the same way.
func clusterFlag(o launch.Object) string {
	if o, ok := o.(*object); ok && o.cluster != "" {
		return " --cluster-name " + shell.Quote(o.cluster)
	}
	return ""
}

// cause is for an outcome without a reason of its own.
func (f *follower) cause(o *launch.Outcome) string {
	switch {
	case o.Verdict == launch.Interrupted && f.stopped:
		return "you stopped it"
	case o.Verdict == launch.Interrupted:
		return "it was told to stop"
	}
	return "no reason is known"
}

// printLock tells whose the lock is after a run that did not succeed.
func (f *follower) printLock(o *launch.Outcome, l *result.Lock) {
	switch {
	case l.Released:
		f.say("the run has released its lock %s", l.ID)
	case o.Pod != "" && (lock.Info{Who: l.Who}).Host() == o.Pod:
		f.say("the run has left its lock %s: the next launch releases it", l.ID)
	default:
		f.say("the lock %s is held by %s for %s since %s", l.ID, l.Who, l.Operation, l.Created)
	}
}

// printState tells where the state is after a run that did not succeed.
func (f *follower) printState(run launch.Run, r *result.Result) {
	o := run.Outcome
	s := r.State
	switch {
	case o.Verdict == launch.Succeeded:
	case s == nil && o.Verdict == launch.Interrupted && !o.Untouched && !r.Partial && r.Unsaved == nil:
		f.say("what it had done is in the state: the next launch goes on from there")
	case s == nil:
	case s.Saved == result.SavedPushed, s.Saved == result.SavedNormally:
		f.say("the state was saved after all: it has what this run did")
	case s.Saved == result.SavedRescued && result.TooLarge(o.Message):
		f.say("the state is in %s, and too large for the Secret that it belongs into: %s doctor %s says what to do", s.Where, f.Name(), target(f.object))
	case s.Saved == result.SavedRescued:
		_, set, _ := strings.Cut(s.Where, "/")
		f.say("the state is in %s: %s launch restore %s --backup %s --image IMAGE puts it back", s.Where, f.Name(), target(f.object), shell.Quote(set))
	default:
		f.say("the state is not saved (%s) %s: look at %s doctor %s", s.Saved, s.Where, f.Name(), target(f.object))
	}
}

// errDeleted keeps a Job that somebody has deleted from being created anew.
var errDeleted = errors.New("the job was deleted")

// deleted tells of a Job that somebody has deleted while it was followed, and what its pod says if that is still there.
func (f *follower) deleted(ctx context.Context) error {
	end := "nothing is known of its end"
	pods, err := f.client.CoreV1().Pods(f.object.Identity().Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + f.job})
	if err == nil {
		for _, pod := range pods.Items {
			for _, s := range pod.Status.ContainerStatuses {
				if t := s.State.Terminated; t != nil && s.Name == launch.RunnerContainer {
					r, _ := result.Decode([]byte(t.Message))
					end = fmt.Sprintf("its pod %s ended with exit code %d%s", pod.Name, t.ExitCode, did(r))
				}
			}
		}
	}
	return Exit{Code: result.ExitRetry, Err: fmt.Errorf("job %s was deleted while it ran, and %s: look at %s doctor %s before you launch again",
		f.job, end, f.Name(), target(f.object))}
}
