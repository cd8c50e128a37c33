package launch

import (
	"fmt"
	"maps"

	"github.com/captf/captf-runner/runner/naming"
)

// Labels of Jobs, their pods and their config Secrets, beside the owner's.
const (
	LabelOp     = "captf.io/op"
	LabelConfig = "captf.io/config-of" // on a config Secret: the name of its Job
)

// Annotations of a Job. The first ones are written when it is created, and never change.
const (
	AnnotationInputsHash  = "captf.io/inputs-hash"
	AnnotationTick        = "captf.io/tick"
	AnnotationApproval    = "captf.io/approval"
	AnnotationForceUnlock = "captf.io/force-unlock" // the lock ID that was handed down
	// AnnotationLockVersion is the lock Lease's resourceVersion, or "none": unchanged afterwards means that
	// the Job changed nothing.
	AnnotationLockVersion = "captf.io/state-lock-version"
	// AnnotationStateVersion is the state's chunks.Set.Version; none when there was no state.
	AnnotationStateVersion = "captf.io/state-version"
	// AnnotationOwnerName is the object's name, if it is too long for the label.
	AnnotationOwnerName = "captf.io/owner-name"
	// AnnotationOutcome is an [Outcome], written when the Job has finished.
	AnnotationOutcome = "captf.io/outcome"
	// AnnotationBooked is "true" once everything that follows from the outcome is done.
	AnnotationBooked = "captf.io/booked"
)

// AnnotationWritten is when a config Secret was written.
const AnnotationWritten = "captf.io/written-at"

// labels are those of everything that belongs to the object's Jobs. A Job does not move with its object.
func labels(o naming.Object) (map[string]string, error) {
	all, err := naming.Labels(o)
	if err != nil {
		return nil, err
	}
	delete(all, naming.LabelMove)
	return all, nil
}

func with(base map[string]string, key, value string) map[string]string {
	m := maps.Clone(base)
	m[key] = value
	return m
}

// selector selects what belongs to the object's Jobs: those of another object whose name has the same
// label are told apart by their names.
func selector(o naming.Object, more string) (string, error) {
	all, err := labels(o)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s=true,%s=%s,%s=%s,%s", naming.LabelManaged, naming.LabelOwnerKind, all[naming.LabelOwnerKind],
		naming.LabelOwnerName, all[naming.LabelOwnerName], more), nil
}

// configName is the Secret with the rendered root of a Job.
func configName(job string) string { return job + "-config" }

// resultName is the ConfigMap in which the runner leaves a result that its termination message cannot hold.
func resultName(job string) string { return job + "-result" }

// changesName is the ConfigMap in which the runner lists all that it is going to change.
func changesName(job string) string { return job + "-changes" }
