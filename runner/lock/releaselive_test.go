package lock_test

import (
	"context"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/captf/captf-runner/runner/lock"
)

// rival does something to the Lease between the reading of it and the first update.
type rival struct {
	typed.LeaseInterface
	step func(lease *coordinationv1.Lease)
}

func (r *rival) Update(
	ctx context.Context, lease *coordinationv1.Lease, opts metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	if step := r.step; step != nil {
		r.step = nil
		if now, err := r.Get(ctx, lease.Name, metav1.GetOptions{}); err == nil {
			step(now)
		}
	}
	return r.LeaseInterface.Update(ctx, lease, opts)
}

// TestReleaseLive releases a lock in a real API server, alone and with a rival that is faster. The second release
// finds nothing to do. cases.md 7, 41.
func TestReleaseLive(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(lease *coordinationv1.Lease) // by the rival; nil for a deletion
		alone       bool
		first, then lock.Outcome
		holder      string // at the end
	}{
		"alone": {alone: true, first: lock.Released, then: lock.AlreadyUnlocked},
		"touched": {
			change: func(l *coordinationv1.Lease) { l.Annotations["x"] = "y" },
			first:  lock.Released, then: lock.AlreadyUnlocked,
		},
		"unlocked": {
			change: func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil },
			first:  lock.AlreadyUnlocked, then: lock.AlreadyUnlocked,
		},
		"taken": {
			change: func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "other" },
			first:  lock.HeldByOther, then: lock.HeldByOther, holder: "other",
		},
		"deleted": {first: lock.AlreadyUnlocked, then: lock.AlreadyUnlocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newObject(t)
			o.hold(t, held(lockID, o.pod(t)))
			leases := &rival{LeaseInterface: o.client.CoordinationV1().Leases(o.Namespace)}
			if !test.alone {
				leases.step = func(now *coordinationv1.Lease) {
					if test.change == nil {
						if err := leases.Delete(t.Context(), now.Name, metav1.DeleteOptions{}); err != nil {
							t.Error(err)
						}
						return
					}
					test.change(now)
					must[*coordinationv1.Lease](t)(leases.LeaseInterface.Update(t.Context(), now, metav1.UpdateOptions{}))
				}
			}
			for _, want := range []lock.Outcome{test.first, test.then} {
				if got := must[lock.Unlock](t)(lock.Release(t.Context(), leases, o.lease(), lockID)); got.Outcome != want {
					t.Errorf("outcome %+v, want %s", got, want)
				}
			}
			now := must[lock.Finding](t)(o.check(t.Context(), o.client)).Lock
			if now.Holder != test.holder {
				t.Errorf("held by %q, want %q", now.Holder, test.holder)
			}
			if there := now.Version() != "none"; there != (test.alone || test.change != nil) {
				t.Errorf("there is a Lease: %v", there)
			}
		})
	}
}
