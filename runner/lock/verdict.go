package lock

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
)

// Verdict is what a lock is worth.
type Verdict string

const (
	Free    Verdict = "Free"    // nobody holds it
	Alive   Verdict = "Alive"   // a pod of one of the object's own Jobs holds it and may still work
	Stale   Verdict = "Stale"   // such a pod held it and is gone: the next Job gets the ID
	Foreign Verdict = "Foreign" // anybody else: never unlocked
)

// PodPhase is the phase of a pod, or PodNotFound.
type PodPhase string

const (
	PodNotFound  PodPhase = "NotFound"
	PodPending   PodPhase = "Pending"
	PodRunning   PodPhase = "Running"
	PodSucceeded PodPhase = "Succeeded"
	PodFailed    PodPhase = "Failed"
	PodUnknown   PodPhase = "Unknown"
)

// ended is true only for what is certain to do nothing any more. A pod that is terminating has not
// ended, and neither has one whose node is out of reach (Unknown).
func (p PodPhase) ended() bool {
	return p == PodNotFound || p == PodSucceeded || p == PodFailed
}

// Owns reports whether a pod belongs to one of the object's own Jobs, by its name.
type Owns func(pod string) bool

// Pods reads one pod live, never from a cache. It returns the API server's own error; NotFound
// counts as PodNotFound.
type Pods func(ctx context.Context, name string) (PodPhase, error)

// Judge decides what l is worth. pod is the phase of the pod that the lock's host names, read live
// and after the lock; it matters only when owns says that the pod is the object's own.
func Judge(l Lock, owns Owns, pod PodPhase) Verdict {
	switch {
	case !l.Held():
		return Free
	case !ours(l, owns):
		return Foreign
	case pod.ended():
		return Stale
	}
	return Alive
}

func ours(l Lock, owns Owns) bool {
	return l.Info.Host() != "" && owns(l.Info.Host())
}

// Finding is a verdict with what it was based on.
type Finding struct {
	Verdict Verdict
	Lock    Lock
	Pod     PodPhase // empty when no pod had to be read
}

// Check reads the lock Lease, then the holder's pod if it is one of the object's own, and judges.
// A Lease that does not exist is Free. Any other error of the API server ends the check: it is never
// taken for "the pod is gone".
func Check(ctx context.Context, leases Getter, name string, owns Owns, pods Pods) (Finding, error) {
	l, err := get(ctx, leases, name)
	if err != nil {
		return Finding{}, fmt.Errorf("check lock: %w", err)
	}
	f := Finding{Lock: l}
	if ours(l, owns) {
		if f.Pod, err = phase(ctx, pods, l.Info.Host()); err != nil {
			return Finding{}, fmt.Errorf("check lock %s: read the holder's pod %s: %w", name, l.Info.Host(), err)
		}
	}
	f.Verdict = Judge(l, owns, f.Pod)
	return f, nil
}

func phase(ctx context.Context, pods Pods, name string) (PodPhase, error) {
	p, err := pods(ctx, name)
	if absent.Is(err) {
		return PodNotFound, nil
	}
	return p, err
}

// get reads the lock; a Lease that does not exist is a free lock.
func get(ctx context.Context, leases Getter, name string) (Lock, error) {
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if absent.Is(err) {
		return Lock{Name: name}, nil
	}
	if err != nil {
		return Lock{}, apiError(name, "get", err)
	}
	return FromLease(lease), nil
}
