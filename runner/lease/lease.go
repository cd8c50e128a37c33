// Package lease decides who may start a Job, when several controllers, or a controller and a person
// at a shell, work on the same objects.
//
// Every object has a run lease, so that one Job works on it at a time. A cluster also has a write
// lease, so that nothing changes a cluster while something changes its machines. [Gate.Enter] takes
// what a Job needs, or says what it waits for; [Gate.Leave] gives it back when the Job has ended.
// [Judge] alone decides whether a lease still counts.
//
// A lease is a Lease of the Kubernetes API whose holder is the name of the Job about to be created.
// Nothing is trusted that was not read live: a [Leases] or a [Jobs] with a cache behind it breaks
// every promise. The rules are those of spec/state-and-locks.md, "Leases: who may start a Job".
package lease

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// Labels and annotations of a lease, beside the owner's labels.
const (
	LabelKind            = "captf.io/lease" // KindRun or KindCluster
	AnnotationOp         = "captf.io/lease-op"
	AnnotationAcquiredAt = "captf.io/lease-acquired-at" // RFC 3339; also when it was last refreshed

	KindRun     = "run"
	KindCluster = "cluster"
)

const (
	// Grace is how long a lease counts whose Job does not exist: it may yet be created.
	Grace = 60 * time.Second
	// MinPodGrace is the least that the backstop allows for a pod's grace period.
	MinPodGrace = 600 * time.Second
	// Margin is the least that the backstop adds to the Job's deadline: its pod's grace period, and slack.
	Margin = MinPodGrace + slack
	slack  = 300 * time.Second
	// DefaultDeadline stands for the deadline that a lease does not tell.
	DefaultDeadline = 3600 * time.Second
)

// Leases reads and writes the Leases of one namespace, live. The typed client's LeaseInterface is one.
type Leases interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error)
	List(ctx context.Context, opts metav1.ListOptions) (*coordinationv1.LeaseList, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, opts metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Job is what the API server knows about the Job that holds a lease. The zero value is no Job.
type Job struct {
	Exists   bool
	Finished bool // it has the condition Complete or Failed
	// PodRuns says that a pod of the Job is in a phase other than Succeeded and Failed, terminating
	// ones included. A deleted Job can leave such a pod behind for its whole grace period.
	PodRuns bool
	// Suspended says that a queue holds it back, so that its deadline has not begun.
	Suspended bool
	// StartedAt is when its deadline began, anew after it was suspended; zero when it has not.
	StartedAt time.Time
}

// Jobs reads a Job and its pods, live. A Job that does not exist is no error.
type Jobs func(ctx context.Context, name string) (Job, error)

// Record is what a lease says.
type Record struct {
	Name       string
	Job        string // the holder; empty when there is none
	Kind       string // KindRun or KindCluster
	Owner      naming.Kind
	Op         naming.Op
	AcquiredAt time.Time // or refreshed; the creation of the lease when it does not say
	Backstop   time.Duration
}

// Mutates reports whether the lease is for an operation that changes resources: a cluster's Job waits for it. One that
// is not known does.
func (r Record) Mutates() bool { return mutates(r.Op) }

// FromLease reads a lease. What is missing gets the value that keeps the lease longest.
func FromLease(l *coordinationv1.Lease) Record {
	r := Record{
		Name:       l.Name,
		Kind:       l.Labels[LabelKind],
		Owner:      naming.Kind(l.Labels[naming.LabelOwnerKind]),
		Op:         naming.Op(l.Annotations[AnnotationOp]),
		AcquiredAt: l.CreationTimestamp.Time,
		Backstop:   DefaultDeadline + Margin,
	}
	if l.Spec.HolderIdentity != nil {
		r.Job = *l.Spec.HolderIdentity
	}
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		r.Backstop = time.Duration(*s) * time.Second
	}
	if at, err := time.Parse(time.RFC3339Nano, l.Annotations[AnnotationAcquiredAt]); err == nil {
		r.AcquiredAt = at
	}
	return r
}

// Status is what a lease is worth.
type Status string

const (
	Live      Status = "Live"      // its Job works, or may yet be created
	Unheld    Status = "Unheld"    // no holder
	Done      Status = "Done"      // its Job has finished and none of its pods runs
	Abandoned Status = "Abandoned" // its Job does not exist, no pod of it runs, and the Grace is over
	Expired   Status = "Expired"   // older than the backstop, whatever its Job does
)

// Judge decides what r is worth at now. job is its holder, read live after the lease. The backstop begins when the
// Job's deadline does: one that a queue held back for hours is as dangerous after them.
func Judge(r Record, job Job, now time.Time) Status {
	switch {
	case r.Job == "":
		return Unheld
	case job.Suspended && !job.Finished:
		return Live
	case now.After(r.Ends(job)):
		return Expired
	case job.PodRuns:
		return Live
	case job.Exists && job.Finished:
		return Done
	case !job.Exists && now.Sub(r.AcquiredAt) > Grace:
		return Abandoned
	}
	return Live
}

// Ends is when the backstop does, after which the lease counts no more.
func (r Record) Ends(job Job) time.Time {
	if job.StartedAt.After(r.AcquiredAt) {
		return job.StartedAt.Add(r.Backstop)
	}
	return r.AcquiredAt.Add(r.Backstop)
}
