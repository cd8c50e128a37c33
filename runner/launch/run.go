package launch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// Run is a Job of the object, as its own marks and its pods tell.
type Run struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	naming.Job      // what the name says: operation and attempt

	InputsHash   string
	Tick         string
	Approval     string // the mark of what was allowed
	ForceUnlock  string // the lock ID that was handed down
	LockVersion  string // of the lock Lease when the Job was created
	StateVersion string // of the state when the Job was created
	CreatedAt    time.Time
	// Owner is the object that the Job was created for; without a UID when it was started by hand.
	Owner corev1.ObjectReference

	Finished   bool // the Job has the condition Complete or Failed
	FinishedAt time.Time
	// Booked says that everything that follows from Outcome is done.
	Booked bool
	// Outcome is nil until it is recorded on the Job.
	Outcome *Outcome
	// Pods are those that are there. They are read only while the run is not booked.
	Pods []Pod

	cluster  *string // as its label names it; nil when that is lost
	evidence Evidence
	lastPod  metav1.Time
}

// Pod is a pod of a run.
type Pod struct {
	Name string
	// Ended says that it is in phase Succeeded or Failed.
	Ended bool
	// Waiting is why a container does not start, such as ImagePullBackOff.
	Waiting string
	Message string
}

// podRuns reports whether a pod of the run may still do something.
func (r Run) podRuns() bool {
	for _, p := range r.Pods {
		if !p.Ended {
			return true
		}
	}
	return false
}

// same reports whether the run is one of what is desired.
func (r Run) same(d Desired) bool {
	return r.Op == d.Op && r.InputsHash == d.InputsHash && r.Tick == d.Tick
}

// verdict is empty while there is no outcome.
func (r Run) verdict() Verdict {
	if r.Outcome == nil {
		return ""
	}
	return r.Outcome.Verdict
}

// result is nil while there is no outcome, and for a run that left none.
func (r Run) result() *result.Result {
	if r.Outcome == nil {
		return nil
	}
	return r.Outcome.Result
}

// mutates is true for an operation that changes resources.
func mutates(op naming.Op) bool {
	return op == naming.Apply || op == naming.Destroy || op == naming.Restore
}
