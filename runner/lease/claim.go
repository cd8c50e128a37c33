package lease

import (
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// Claim is the wish to start one Job.
type Claim struct {
	Object   naming.Object
	Op       naming.Op
	Job      string        // the name of the Job about to be created
	Deadline time.Duration // its activeDeadlineSeconds
	// PodGrace is its pod's terminationGracePeriodSeconds: a Job past its deadline may work so much longer. Less than
	// MinPodGrace counts as that.
	PodGrace time.Duration
}

// backstop is the age beyond which the Job cannot be at work any more.
func (c Claim) backstop() time.Duration { return c.Deadline + max(c.PodGrace, MinPodGrace) + slack }

func (c Claim) validate() error {
	switch {
	case c.Job == "":
		return errors.New("the claim names no Job")
	case c.Deadline <= 0:
		return errors.New("the claim has no deadline: set the Job's activeDeadlineSeconds")
	}
	if _, err := naming.ParseOp(string(c.Op)); err != nil {
		return err
	}
	return c.Object.Validate()
}

// writesCluster is true for the claim that needs the cluster write lease too.
func (c Claim) writesCluster() bool {
	return c.Object.Kind == naming.Cluster && c.Object.Cluster != "" && mutates(c.Op)
}

// mutates is true for an operation that changes resources, and for one that is not known.
func mutates(op naming.Op) bool {
	switch op {
	case naming.Plan, naming.Refresh, naming.Drift:
		return false
	}
	return true
}

func (c Claim) runLease() string { return naming.RunLease(naming.Suffix(c.Object)) }

func (c Claim) clusterLease() string {
	return naming.ClusterLease(c.Object.Namespace, c.Object.Cluster)
}

// lease is the Lease of this kind and name, held by the claim's Job since now.
func (c Claim) lease(kind, name string, now time.Time) (*coordinationv1.Lease, error) {
	labels, err := naming.Labels(c.Object)
	if err != nil {
		return nil, fmt.Errorf("lease %s: %w", name, err)
	}
	delete(labels, naming.LabelMove) // a Job does not move, so its lease must not
	labels[LabelKind] = kind
	seconds := int32(c.backstop().Round(time.Second) / time.Second)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.Object.Namespace, Labels: labels,
			Annotations: map[string]string{
				AnnotationOp:         string(c.Op),
				AnnotationAcquiredAt: now.UTC().Format(time.RFC3339Nano),
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &c.Job, LeaseDurationSeconds: &seconds},
	}, nil
}
