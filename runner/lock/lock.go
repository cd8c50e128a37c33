// Package lock deals with the lock that OpenTofu and Terraform keep on a state: who holds it,
// whether that holder is dead, and how to release it without ever taking it from a living one.
//
// With the `kubernetes` backend the lock is a Lease. [FromLease] reads it, [Judge] decides what it
// is worth (Free, Alive, Stale or Foreign), [Check] gathers what Judge needs, [Release] clears it by
// compare-and-swap, and [WaitFree] waits for it. For every other backend there is only the text that
// the runtime prints: [ParseText] finds the holder in it, [ClassifyUnlock] what a force-unlock did.
//
// The rules are those of spec/state-and-locks.md, "The lock and its verdict". Age is never a reason.
package lock

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InfoAnnotation is the annotation of the Lease that holds the lock info as JSON.
const InfoAnnotation = "app.terraform.io/lock-info"

// ErrNoInfo says that a lock is held but nothing tells by whom.
var ErrNoInfo = errors.New("no lock info")

// ErrOtherInfo says that the lock info has another ID than the holder.
var ErrOtherInfo = errors.New("the lock info is that of another lock")

// Getter reads Leases of one namespace. The typed client's LeaseInterface and kube.Leases are one.
type Getter interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error)
}

// Leases also changes them.
type Leases interface {
	Getter
	Update(ctx context.Context, lease *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

// Lock is what the lock Lease says. The zero value is a lock that was never taken.
type Lock struct {
	Name   string
	Holder string // the ID of the lock that is held; empty when it is free

	// EmptyHolder says that the holder is the empty string: free by the rules of this package, but to
	// both runtimes a lock that they can neither take nor release. Release with an empty ID repairs it.
	EmptyHolder bool

	Info    Info  // describes the holder; zero when the lock is free, only the ID when InfoErr is not nil
	InfoErr error // why nothing tells who holds the lock; matches ErrNoInfo when there is no info at all

	ResourceVersion string
}

// FromLease reads a lock; a nil Lease, one that does not exist, is a free lock. A holder that is the
// empty string is no holder. Info that is missing, does not parse or is that of another lock (both
// runtimes write one ID in both places) is reported in InfoErr: the lock is held all the same.
func FromLease(lease *coordinationv1.Lease) Lock {
	if lease == nil {
		return Lock{}
	}
	l := Lock{Name: lease.Name, ResourceVersion: lease.ResourceVersion}
	if lease.Spec.HolderIdentity != nil {
		l.Holder = *lease.Spec.HolderIdentity
		l.EmptyHolder = l.Holder == ""
	}
	if l.Held() {
		l.Info, l.InfoErr = l.parse(lease.Annotations[InfoAnnotation])
	}
	return l
}

func (l Lock) parse(text string) (Info, error) {
	info, err := ParseInfo(text)
	if err == nil && info.ID != l.Holder {
		err = fmt.Errorf("%w: its ID is %q", ErrOtherInfo, info.ID)
	}
	if err != nil {
		return Info{ID: l.Holder}, err
	}
	return info, nil
}

// Held reports whether anybody holds the lock.
func (l Lock) Held() bool { return l.Holder != "" }

// ID is what has to be released. Empty when free.
func (l Lock) ID() string { return l.Holder }

// Version is the evidence recorded on a Job as `captf.io/state-lock-version`: unchanged afterwards
// means that nobody took the lock in between. "none" when there is no Lease.
func (l Lock) Version() string {
	if l.ResourceVersion == "" {
		return "none"
	}
	return l.ResourceVersion
}
