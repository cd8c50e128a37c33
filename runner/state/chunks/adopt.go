package chunks

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// Owner is the object as an owner reference names it. It never becomes a controller reference, and never blocks the
// deletion of its owner.
type Owner struct {
	APIVersion string
	Kind       string
	Name       string
	UID        types.UID
}

// Adoption is what is to be true of every chunk.
type Adoption struct {
	Owner Owner
	// InputsHash is the hash of the Job that made the state. Empty leaves the one that is there.
	InputsHash string
	// LockIsStale says that the holder of the lock is known to be dead (lock.Stale): the lock Lease is owned although
	// it is held.
	LockIsStale bool
	// Relabel gives a label that has another value the one that the backend looks for. Labels that are missing are
	// always added.
	Relabel bool
}

// Adopted is what an adoption did.
type Adopted struct {
	// Changed are the names of the Secrets and the Lease that were written.
	Changed []string
	// Left is the lock Lease if it was left alone because it is held: writing it could make its holder's release fail.
	Left string
}

// Adopt makes the object the owner of every chunk and of the lock Lease, and writes the inputs hash on the base, last.
// It writes nothing but metadata, and only to what is as it was read; what changed in between is read again and tried
// again, a few times. So it never takes back what another wrote; and a hash that another adopted meanwhile stays. What
// is already as it should be is not written.
//
// An error names the object. After one, gather and adopt again in the next pass: what is done is done.
func (a API) Adopt(ctx context.Context, set *Set, want Adoption) (Adopted, error) {
	var done Adopted
	p, err := newPlan(set, want)
	if err != nil {
		return done, fmt.Errorf("adopt the state of %s: %w", set.Object, err)
	}
	for _, secret := range set.all() {
		changed, err := a.adoptSecret(ctx, p, secret)
		if err != nil {
			return done, fmt.Errorf("adopt the state of %s: %w", set.Object, err)
		}
		if changed {
			done.Changed = append(done.Changed, secret.Name)
		}
	}
	if err := a.adoptLease(ctx, p, &done); err != nil {
		return done, fmt.Errorf("adopt the state of %s: %w", set.Object, err)
	}
	return done, nil
}

func (a API) adoptSecret(ctx context.Context, p plan, secret *corev1.Secret) (changed bool, err error) {
	hash := ""
	if secret.Name == p.base {
		hash = p.want.InputsHash
	}
	carried := secret.Annotations[state.AnnotationInputsHash]
	err = retry(ctx, func() error {
		if secret.Annotations[state.AnnotationInputsHash] != carried {
			hash = "" // another adoption was faster, and knows better
		}
		patch, err := p.patch(&secret.ObjectMeta, hash)
		if err != nil || patch == nil {
			return permanent(err)
		}
		_, err = a.Secrets.Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if apierrors.IsConflict(err) {
			if secret, err = reread(ctx, a.Secrets.Get, secret); err == nil {
				err = errMoved
			}
		}
		changed = err == nil
		return err
	})
	if absent.Is(err) && secret.Name != p.base {
		return false, nil // the state shrank
	}
	if err != nil {
		return false, fmt.Errorf("patch secret %s: %w", secret.Name, err)
	}
	return changed, nil
}

func (a API) adoptLease(ctx context.Context, p plan, done *Adopted) error {
	name := naming.LockLease(p.suffix)
	err := retry(ctx, func() error {
		lease, err := a.Leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return permanent(err)
		}
		if id := lease.Spec.HolderIdentity; id != nil && *id != "" && !p.want.LockIsStale {
			done.Left = name
			return nil
		}
		patch, err := p.patch(&lease.ObjectMeta, "")
		if err != nil || patch == nil {
			return permanent(err)
		}
		_, err = a.Leases.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		switch {
		case apierrors.IsConflict(err):
			return errMoved
		case err == nil:
			done.Changed = append(done.Changed, name)
		}
		return err
	})
	if err != nil && !absent.Is(err) {
		return fmt.Errorf("patch lease %s: %w", name, err)
	}
	return nil
}
