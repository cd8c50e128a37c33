package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
)

// SwapPauses are the pauses between the tries of a compare-and-swap on the API server: four, the first of 50 ms.
func SwapPauses() backoff.BackOff {
	return backoff.WithMaxRetries(backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond)), 4)
}

// Outcome is what became of an unlock; the values are those of the result document.
type Outcome string

const (
	Released        Outcome = "released"
	AlreadyUnlocked Outcome = "already-unlocked"
	HeldByOther     Outcome = "held-by-other" // that lock was left alone
	Unsupported     Outcome = "unsupported"   // the backend cannot unlock, or not by this ID
)

// Unlock is the outcome of an unlock, with the holder when it is held by another.
type Unlock struct {
	Outcome Outcome
	Holder  Info
}

// Release clears the lock while its holder is still id, by an update of exactly the version that it
// read, and leaves the Lease as the runtimes leave it: in place, without holder and lock info. A
// Lease that does not exist is already unlocked. A conflict or a passing error means reading again,
// a bounded number of times. Forbidden and the like are errors that name the verb and the resource.
//
// A holder that is the empty string (see Lock.EmptyHolder) is cleared too, whatever the ID.
func Release(ctx context.Context, leases Leases, name, id string) (Unlock, error) {
	var done Unlock
	try := func() error {
		var err error
		done, err = releaseOnce(ctx, leases, name, id)
		if err != nil && !passing(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	if err := backoff.Retry(try, backoff.WithContext(SwapPauses(), ctx)); err != nil {
		return Unlock{}, fmt.Errorf("release lock %s: %w", name, err)
	}
	return done, nil
}

func releaseOnce(ctx context.Context, leases Leases, name, id string) (Unlock, error) {
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if absent.Is(err) {
		return Unlock{Outcome: AlreadyUnlocked}, nil
	}
	if err != nil {
		return Unlock{}, apiError(name, "get", err)
	}
	l := FromLease(lease)
	switch {
	case !l.Held() && !l.EmptyHolder:
		return Unlock{Outcome: AlreadyUnlocked}, nil
	case l.Held() && l.Holder != id:
		return Unlock{Outcome: HeldByOther, Holder: l.Info}, nil
	}
	_, err = leases.Update(ctx, cleared(lease), metav1.UpdateOptions{})
	switch {
	case absent.Is(err) || err == nil && !l.Held():
		return Unlock{Outcome: AlreadyUnlocked}, nil
	case err != nil:
		return Unlock{}, apiError(name, "update", err)
	}
	return Unlock{Outcome: Released}, nil
}

// cleared keeps the resourceVersion, so that the update is refused if anybody wrote in between.
func cleared(lease *coordinationv1.Lease) *coordinationv1.Lease {
	free := lease.DeepCopy()
	free.Spec.HolderIdentity = nil
	delete(free.Annotations, InfoAnnotation)
	return free
}
