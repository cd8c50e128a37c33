package lease

import (
	"context"
	"fmt"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
)

// taken is the answer to one attempt to take one lease.
type taken struct {
	lease  *coordinationv1.Lease // as written; nil when it was not taken
	fresh  bool                  // it was not this Job's before
	at     time.Time             // before it was written
	holder string                // of a lease that was not taken: a live Job, or empty when another writer was faster
}

// take creates the lease, or takes over one that no longer counts, or refreshes its own. It writes at
// most once: a conflict means that another writer won, who is then left in peace until the next pass.
func (g Gate) take(ctx context.Context, c Claim, kind, name string) (taken, error) {
	now := g.now()
	want, err := c.lease(kind, name, now)
	if err != nil {
		return taken{}, err
	}
	made, err := g.Leases.Create(ctx, want, metav1.CreateOptions{})
	switch {
	case err == nil:
		return taken{lease: made, fresh: true, at: now}, nil
	case !apierrors.IsAlreadyExists(err):
		return taken{}, fmt.Errorf("create lease %s: %w", name, err)
	}
	found, err := g.Leases.Get(ctx, name, metav1.GetOptions{})
	switch {
	case absent.Is(err):
		return taken{}, nil // it was given back just now
	case err != nil:
		return taken{}, fmt.Errorf("get lease %s: %w", name, err)
	}
	return g.takeOver(ctx, found, want)
}

func (g Gate) takeOver(ctx context.Context, found, want *coordinationv1.Lease) (taken, error) {
	r := FromLease(found)
	own := r.Job == *want.Spec.HolderIdentity
	if !own {
		status, err := g.status(ctx, r)
		if err != nil {
			return taken{}, err
		}
		if status == Live {
			return taken{holder: r.Job}, nil
		}
	}
	now := g.now()
	next := found.DeepCopy()
	next.Spec = want.Spec
	next.Labels = merged(found.Labels, want.Labels)
	next.Annotations = merged(found.Annotations, want.Annotations)
	next.Annotations[AnnotationAcquiredAt] = now.UTC().Format(time.RFC3339Nano)
	written, err := g.Leases.Update(ctx, next, metav1.UpdateOptions{})
	switch {
	case apierrors.IsConflict(err) || absent.Is(err):
		return taken{}, nil
	case err != nil:
		return taken{}, fmt.Errorf("update lease %s: %w", found.Name, err)
	}
	return taken{lease: written, fresh: !own, at: now}, nil
}

// status judges a lease by its holder as it is now.
func (g Gate) status(ctx context.Context, r Record) (Status, error) {
	var job Job
	if r.Job != "" {
		var err error
		if job, err = g.Jobs(ctx, r.Job); err != nil {
			return "", fmt.Errorf("lease %s: read its Job %s: %w", r.Name, r.Job, err)
		}
	}
	return Judge(r, job, g.now()), nil
}

func merged(base, over map[string]string) map[string]string {
	m := maps.Clone(base)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, over)
	return m
}
