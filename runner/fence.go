package runner

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// fence keeps a write that the dead holder of the lock has sent, and that is still on its way, from a state that the next
// run goes by: a runtime writes upon the version of the Secret that it read, and each Secret of the state gets a new one.
// That comes before the lock is released, for nobody else may write until then. A write that comes before the fence is
// part of the state that the run finds. Without the fence the run goes on: such a write is rare.
func (r *run) fence(ctx context.Context) {
	if r.cluster == nil {
		return // a state server refuses a write with the ID of a lock that is gone
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	if err := r.cluster.fence(ctx, r.stale.id); err != nil && r.stop.Cause() == nil { // else nothing is released
		r.noFence(r.stale.id, err)
	}
}

// fenceOwn is the fence against this run's own child, which is dead and left its lock: the API server, or what stands
// before it, may still have a request that the child has sent. It goes up after a stop as well, and only while the
// child holds the lock: a push that is repeated for long may find that of another run.
func (r *run) fenceOwn(ctx context.Context) {
	if r.cluster == nil {
		return
	}
	ctx, cancel := r.look(ctx)
	defer cancel()
	holder, err := r.cluster.Holder(ctx)
	if err == nil && compare(holder, r.child.lock).Outcome != lock.Released {
		return
	}
	if err == nil {
		err = r.cluster.fence(ctx, r.child.lock)
	}
	if err != nil {
		r.noFence(r.child.lock, err)
	}
}

func (r *run) noFence(id string, err error) {
	r.log.Warn("a write of the lock's dead holder that is still on its way would not be refused", "id", id, "error", err)
}

// fence gives each Secret of the state a new version.
func (c *cluster) fence(ctx context.Context, id string) error {
	secrets := c.client.Secrets(c.client.Namespace())
	for part := 0; ; part++ {
		name := naming.StateSecret(c.suffix, part)
		err := renew(ctx, secrets, name, id)
		if absent.Is(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("fence Secret %s: %w", name, err)
		}
	}
}

// renew gives a Secret a new version; who writes meanwhile has done so already.
func renew(ctx context.Context, secrets kube.Secrets, name, id string) error {
	try := func() error {
		secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return backoff.Permanent(err)
		}
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		secret.Annotations[naming.AnnotationFenced] = id // an update that changes nothing gives no new version
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	return backoff.Retry(try, backoff.WithContext(lock.SwapPauses(), ctx))
}
