package lease

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/naming"
)

// Gate lets Jobs in.
//
// A cluster writes its lease and then looks for machines; a machine writes its lease and then looks for
// the cluster. So of a cluster and a machine that come at once at least one sees the other, and they
// never both proceed. The cluster keeps what it has while it waits, the machine gives back: the
// writer is preferred, and neither waits for the other for ever.
type Gate struct {
	Leases Leases
	Jobs   Jobs
	Now    func() time.Time // the clock; time.Now when nil
}

func (g Gate) now() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}

// Reason is why a Job may not start yet.
type Reason string

const (
	// WaitingForJob: another Job holds the lease. That is the object's own run lease, or for a cluster
	// also the write lease.
	WaitingForJob Reason = "WaitingForJob"
	// WaitingForOtherWriter: another writer changed the lease at this moment.
	WaitingForOtherWriter Reason = "WaitingForOtherWriter"
	// WaitingForMachineOperations: the cluster holds its leases until its machines' Jobs have ended.
	WaitingForMachineOperations Reason = "WaitingForMachineOperations"
	// WaitingForClusterOperation: the machine holds nothing until the cluster's Job has ended.
	WaitingForClusterOperation Reason = "WaitingForClusterOperation"
)

// Admission is the answer to a Claim.
type Admission struct {
	// CreateBefore is the moment by which the Job has to be created; zero when it may not start. After
	// that others may see a lease without a Job, so create it with this as the deadline of the request,
	// and otherwise enter again.
	CreateBefore time.Time
	Reason       Reason   // why it may not start; empty when it may
	Jobs         []string // the Jobs that it waits for, where they are known

	taken []taken // when it may start
}

// Admitted reports whether the Job may be created now.
func (a Admission) Admitted() bool { return a.Reason == "" && !a.CreateBefore.IsZero() }

// Enter takes the leases that the claim's Job needs. It never waits: when the answer is no, ask again
// in the next pass, and at least every Grace/2, since a cluster that waits keeps its leases by asking.
// Asking again for the same Job is harmless. An error means that nothing may be started; what was
// taken before it is kept, and frees itself after the Grace.
func (g Gate) Enter(ctx context.Context, c Claim) (Admission, error) {
	if err := c.validate(); err != nil {
		return Admission{}, fmt.Errorf("enter %s: %w", c.Object, err)
	}
	enter := g.enterMember
	if c.Object.Kind == naming.Cluster {
		enter = g.enterCluster
	}
	a, err := enter(ctx, c)
	if err != nil {
		return Admission{}, fmt.Errorf("enter %s: %w", c.Object, err)
	}
	return a, nil
}

func (g Gate) enterCluster(ctx context.Context, c Claim) (Admission, error) {
	run, err := g.take(ctx, c, KindRun, c.runLease())
	if err != nil || run.lease == nil || !c.writesCluster() {
		return run.admission(), err
	}
	write, err := g.take(ctx, c, KindCluster, c.clusterLease())
	if err != nil || write.lease == nil {
		return write.admission(), err
	}
	jobs, err := g.liveMembers(ctx, c)
	if err != nil {
		return Admission{}, err
	}
	if len(jobs) > 0 {
		return Admission{Reason: WaitingForMachineOperations, Jobs: jobs}, nil
	}
	return run.admission(write), nil // taken first, so it is the older one
}

// enterMember looks at the cluster's lease twice. The second look, after the write, is the one that
// makes it safe. The first one keeps machines that try and try from being seen by the cluster each
// time that it looks, and it lets a lease that this object left behind grow old.
func (g Gate) enterMember(ctx context.Context, c Claim) (Admission, error) {
	if wait, err := g.waitForCluster(ctx, c); err != nil || wait.Reason != "" {
		return wait, err
	}
	run, err := g.take(ctx, c, KindRun, c.runLease())
	if err != nil || run.lease == nil {
		return run.admission(), err
	}
	wait, err := g.waitForCluster(ctx, c)
	if err != nil {
		return Admission{}, err
	}
	if wait.Reason == "" {
		return run.admission(), nil
	}
	// A lease that was this Job's before may be what another controller was admitted with, who is
	// about to create the Job. Only what this pass itself took, and nobody has touched since, is given back.
	if run.fresh {
		if err := g.remove(ctx, run.lease); err != nil && !moved(err) {
			return Admission{}, err
		}
	}
	return wait, nil
}

// waitForCluster reads the write lease of the claim's cluster.
func (g Gate) waitForCluster(ctx context.Context, c Claim) (Admission, error) {
	if c.Object.Cluster == "" {
		return Admission{}, nil
	}
	l, err := g.Leases.Get(ctx, c.clusterLease(), metav1.GetOptions{})
	if absent.Is(err) {
		return Admission{}, nil
	}
	if err != nil {
		return Admission{}, fmt.Errorf("get lease %s: %w", c.clusterLease(), err)
	}
	r := FromLease(l)
	status, err := g.status(ctx, r)
	if err != nil || status != Live {
		return Admission{}, err
	}
	return Admission{Reason: WaitingForClusterOperation, Jobs: []string{r.Job}}, nil
}

// liveMembers lists the Jobs of the cluster's machines and pools that change something.
func (g Gate) liveMembers(ctx context.Context, c Claim) ([]string, error) {
	selector, err := Members(c.Object)
	if err != nil {
		return nil, err
	}
	list, err := g.Leases.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list leases of the machines of cluster %s: %w", c.Object.Cluster, err)
	}
	var jobs []string
	for i := range list.Items {
		r := FromLease(&list.Items[i])
		if !r.Mutates() {
			continue
		}
		status, err := g.status(ctx, r)
		if err != nil {
			return nil, err
		}
		if status == Live {
			jobs = append(jobs, r.Job)
		}
	}
	return jobs, nil
}

// Members is the label selector of the run leases of a cluster's machines and pools. An error is that of
// [naming.Object.Validate].
func Members(cluster naming.Object) (selector string, err error) {
	labels, err := naming.Labels(cluster)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s=%s,%s=%s,%s!=%s",
		LabelKind, KindRun, naming.LabelCluster, labels[naming.LabelCluster], naming.LabelOwnerKind, naming.Cluster), nil
}

// admission is the answer when this lease decides; more are those that were taken after it.
func (t taken) admission(more ...taken) Admission {
	switch {
	case t.lease != nil:
		return Admission{CreateBefore: t.at.Add(Grace / 2), taken: append(more, t)}
	case t.holder != "":
		return Admission{Reason: WaitingForJob, Jobs: []string{t.holder}}
	}
	return Admission{Reason: WaitingForOtherWriter}
}
