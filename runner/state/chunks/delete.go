package chunks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// The refusals of [API.Delete].
var (
	// ErrLocked: somebody holds the state's lock.
	ErrLocked = errors.New("the state is locked")
	// ErrResources: the state still has resources, which nothing would know of any more.
	ErrResources = errors.New("the state still has resources")
	// ErrUnreadable: the state does not say whether it has resources.
	ErrUnreadable = errors.New("the state cannot be read")
	// ErrLeased: another Job holds a lease of the object.
	ErrLeased = errors.New("another Job holds a lease")
)

// Deletion says what is removed, and what does not stop it.
type Deletion struct {
	Object naming.Object
	// Jobs are those whose leases do not count any more: that of the destroy, and one that was never created.
	Jobs []string
	// StaleLock is the ID of a lock whose holder is known to be dead (lock.Stale): it is removed while it has that
	// holder.
	StaleLock string
	// EmptyVersion is the [Set.Version] of a state that is known to have no resources, although it cannot be read:
	// one that is encrypted, and that a destroy found nothing in.
	EmptyVersion string
	// AlthoughLocked removes a state whose lock is held.
	AlthoughLocked bool
	// AlthoughResources removes a state that has resources, or that cannot be read.
	AlthoughResources bool
}

// Delete removes what a destroyed object leaves: every chunk, the lock Lease, the run lease and, for a cluster, the
// cluster write lease. Backups and rescue sets stay. It removes nothing if it refuses, and nothing that changed since
// it was read: then its error is the server's conflict, and the next pass looks again. What is gone already is no
// error, so it may be called again.
//
// The error matches [ErrLocked], [ErrResources], [ErrUnreadable] or [ErrLeased] if it refuses.
func (a API) Delete(ctx context.Context, d Deletion) error {
	if err := a.delete(ctx, d); err != nil {
		return fmt.Errorf("delete the state of %s: %w", d.Object, err)
	}
	return nil
}

func (a API) delete(ctx context.Context, d Deletion) error {
	set, err := a.Gather(ctx, d.Object)
	if err != nil {
		return err
	}
	leases, err := a.leases(ctx, d)
	if err != nil {
		return err
	}
	if err := d.check(set, leases); err != nil {
		return err
	}
	if err := a.deleteChunks(ctx, set.all()); err != nil {
		return err
	}
	for _, lease := range leases {
		err := a.Leases.Delete(ctx, lease.Name, exactly(&lease.ObjectMeta))
		if err != nil && !absent.Is(err) {
			return fmt.Errorf("delete lease %s: %w", lease.Name, err)
		}
	}
	return nil
}

// deleteChunks deletes them in order, the base last. The base of several is marked before: without the others it does
// not tell any more that the state may go, and a deletion that was interrupted has to be finished.
func (a API) deleteChunks(ctx context.Context, chunks []*corev1.Secret) error {
	if n := len(chunks); n > 1 && !marked(chunks[n-1]) {
		base, err := a.mark(ctx, chunks[n-1])
		if err != nil {
			return fmt.Errorf("mark secret %s: %w", chunks[n-1].Name, err)
		}
		chunks[n-1] = base
	}
	for _, secret := range chunks {
		err := a.Secrets.Delete(ctx, secret.Name, exactly(&secret.ObjectMeta))
		if err != nil && !absent.Is(err) {
			return fmt.Errorf("delete secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// annotationDeleting marks a base whose state was found to be one that may be deleted: the hash of its data, so that a
// state that was written later is not marked.
const annotationDeleting = "captf.io/state-deleting"

func (a API) mark(ctx context.Context, base *corev1.Secret) (*corev1.Secret, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": base.ResourceVersion, "annotations": map[string]string{annotationDeleting: dataHash(base)},
	}})
	if err != nil {
		return nil, err
	}
	return a.Secrets.Patch(ctx, base.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

func marked(base *corev1.Secret) bool { return base.Annotations[annotationDeleting] == dataHash(base) }

func dataHash(secret *corev1.Secret) string {
	sum := sha256.Sum256(secret.Data[state.DataKey])
	return hex.EncodeToString(sum[:])
}

// leases reads those that are there.
func (a API) leases(ctx context.Context, d Deletion) ([]*coordinationv1.Lease, error) {
	var leases []*coordinationv1.Lease
	for _, name := range append([]string{naming.LockLease(naming.Suffix(d.Object))}, naming.Leases(d.Object)...) {
		lease, err := a.Leases.Get(ctx, name, metav1.GetOptions{})
		switch {
		case absent.Is(err):
		case err != nil:
			return nil, fmt.Errorf("get lease %s: %w", name, err)
		default:
			leases = append(leases, lease)
		}
	}
	return leases, nil
}

// check says why nothing may be deleted.
func (d Deletion) check(set *Set, leases []*coordinationv1.Lease) error {
	for _, lease := range leases {
		l := lock.FromLease(lease)
		switch {
		case !l.Held() || slices.Contains(d.Jobs, l.Holder):
		case lease.Name != naming.LockLease(naming.Suffix(d.Object)):
			return fmt.Errorf("%w: %s is held by %s: wait until it has ended", ErrLeased, lease.Name, l.Holder)
		case !d.AlthoughLocked && l.ID() != d.StaleLock:
			return fmt.Errorf("%w: %s: release it first, or delete although it is locked", ErrLocked, l.Info)
		}
	}
	all := set.all()
	if d.AlthoughResources || len(all) == 0 || marked(all[len(all)-1]) {
		return nil
	}
	sum, err := set.Read(true)
	switch {
	case errors.Is(err, state.Encrypted) && d.EmptyVersion != "" && d.EmptyVersion == set.Version():
		return nil
	case err != nil && errors.Is(err, state.Mislabelled):
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	case err != nil:
		return fmt.Errorf("%w, so nothing tells whether it has resources: delete it although it may: %w", ErrUnreadable, err)
	case sum.Resources > 0:
		return fmt.Errorf("%w: %d: destroy them, or delete it although it has them", ErrResources, sum.Resources)
	}
	return nil
}

// exactly are the preconditions that nothing but what was read is deleted.
func exactly(meta *metav1.ObjectMeta) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &meta.UID, ResourceVersion: &meta.ResourceVersion}}
}
