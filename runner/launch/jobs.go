package launch

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// pageSize bounds one answer of a list.
const pageSize = 500

// runs lists the object's Jobs, oldest first.
func (c Clients) runs(ctx context.Context, o naming.Object) ([]Run, error) {
	selected, err := selector(o, LabelOp)
	if err != nil {
		return nil, err
	}
	var runs []Run
	opts := metav1.ListOptions{LabelSelector: selected, Limit: pageSize}
	for {
		list, err := c.Jobs.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list the jobs of %s: %w", o, err)
		}
		for i := range list.Items {
			if r, ok := runOf(o, &list.Items[i]); ok {
				runs = append(runs, r)
			}
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	slices.SortStableFunc(runs, older)
	return runs, nil
}

// older orders by creation, which has seconds only, and then by attempt.
func older(a, b Run) int {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c
	}
	return a.Attempt - b.Attempt
}

// runOf reads a Job; false for one that is none of the object's, whatever its labels say.
func runOf(o naming.Object, job *batchv1.Job) (Run, bool) {
	parsed, ok := naming.ParseJob(o, job.Name)
	if !ok {
		return Run{}, false
	}
	r := Run{
		Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion, Job: parsed,
		InputsHash: job.Annotations[AnnotationInputsHash], Tick: job.Annotations[AnnotationTick],
		Approval: job.Annotations[AnnotationApproval], ForceUnlock: job.Annotations[AnnotationForceUnlock],
		LockVersion: job.Annotations[AnnotationLockVersion], StateVersion: job.Annotations[AnnotationStateVersion],
		CreatedAt: job.CreationTimestamp.Time, Owner: ownerOf(job), evidence: jobEvidence(job),
	}
	if name, there := job.Labels[naming.LabelCluster]; there {
		r.cluster = &name
	}
	r.Finished, r.FinishedAt = finishedAt(job)
	if text, ok := job.Annotations[AnnotationOutcome]; ok {
		if outcome, err := decodeOutcome(text); err == nil {
			r.Outcome = &outcome
		}
	}
	// Without an outcome it is booked anew: somebody has damaged the mark.
	r.Booked = r.Finished && r.Outcome != nil && job.Annotations[AnnotationBooked] == "true"
	return r, true
}

func ownerOf(job *batchv1.Job) corev1.ObjectReference {
	ref := metav1.GetControllerOf(job)
	if ref == nil {
		return corev1.ObjectReference{}
	}
	return corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

func finishedAt(job *batchv1.Job) (bool, time.Time) {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// jobEvidence is what the Job itself tells about its end.
func jobEvidence(job *batchv1.Job) Evidence {
	var e Evidence
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			e.Complete = true
		case c.Type == batchv1.JobFailed:
			e.Message = c.Message
			e.Deadline = c.Reason == batchv1.JobReasonDeadlineExceeded
			e.ExitCode, e.Disrupted = fromPolicy(c)
		}
	}
	return e
}

// fromPolicy reads what the Job controller says about the rule of podFailurePolicy that applied. Its words are
// not a contract, so they count only where no pod is left.
func fromPolicy(c batchv1.JobCondition) (code *int, disrupted bool) {
	if c.Reason != batchv1.JobReasonPodFailurePolicy {
		return nil, false
	}
	if m := exitCodeText().FindStringSubmatch(c.Message); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return &n, false
		}
	}
	return nil, disruptionText().MatchString(c.Message)
}

var (
	exitCodeText   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`with exit code (\d+) matching`) })
	disruptionText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`has condition DisruptionTarget matching`) })
)
