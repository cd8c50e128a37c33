package lease

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaveTries bounds how often Leave looks again at a lease that changed while it looked.
const leaveTries = 5

// Leave gives back what Enter took for a Job that has finished, when none of its pods runs any more.
// A lease that is not the Job's, or not there, is left alone, so it may be called again.
//
// Do not call it for a Job that was admitted and not created: another controller may have been
// admitted with the same lease and be about to create it. Such a lease frees itself after the Grace.
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

func (g Gate) release(ctx context.Context, name, job string) error {
	try := func() error {
		l, err := g.Leases.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
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
func moved(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
