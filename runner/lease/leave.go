package lease

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
)

// leaveTries bounds how often Leave looks again at a lease that changed while it looked.
const leaveTries = 5

// Leave gives back what Enter took for a Job that has finished, when none of its pods runs any more.
// A lease that is not the Job's, or not there, is left alone, so it may be called again.
//
// Do not call it for a Job that was admitted and not created: another controller may have been
// admitted with the same lease and be about to create it. GiveBack is for that.
func (g Gate) Leave(ctx context.Context, c Claim) error {
	names := []string{c.runLease()}
	if c.writesCluster() {
		names = []string{c.clusterLease(), c.runLease()}
	}
	for _, name := range names {
		if err := g.release(ctx, name, c.Job); err != nil {
			return fmt.Errorf("leave %s: %w", c.Object, err)
		}
	}
	return nil
}

// GiveBack gives back the leases of an admission whose Job the API server has refused to create, and reports whether it
// could. It could not when they were the Job's before, or somebody has touched them since: another controller may be
// about to create the same Job. Then they free themselves after the Grace. Do not call it when the Job may exist.
func (g Gate) GiveBack(ctx context.Context, a Admission) (given bool, err error) {
	for _, t := range a.taken {
		if !t.fresh {
			return false, nil
		}
	}
	for _, t := range a.taken {
		err := g.remove(ctx, t.lease)
		if moved(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("give back: %w", err)
		}
	}
	return len(a.taken) > 0, nil
}

func (g Gate) release(ctx context.Context, name, job string) error {
	try := func() error {
		l, err := g.Leases.Get(ctx, name, metav1.GetOptions{})
		switch {
		case absent.Is(err):
			return nil
		case err != nil:
			return backoff.Permanent(fmt.Errorf("get lease %s: %w", name, err))
		case FromLease(l).Job != job:
			return nil
		}
		err = g.remove(ctx, l)
		if err != nil && !moved(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	// At once: nobody writes this lease again and again.
	return backoff.Retry(try, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, leaveTries-1), ctx))
}

// remove deletes exactly this version of this lease.
func (g Gate) remove(ctx context.Context, l *coordinationv1.Lease) error {
	err := g.Leases.Delete(ctx, l.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion},
	})
	if err != nil {
		return fmt.Errorf("delete lease %s: %w", l.Name, err)
	}
	return nil
}

// moved is true when the lease is no longer what was read.
func moved(err error) bool { return apierrors.IsConflict(err) || absent.Is(err) }
