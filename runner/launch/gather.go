package launch

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// pass is one pass over one object.
type pass struct {
	*Launcher
	object  Object
	id      naming.Object
	ref     corev1.ObjectReference
	desired Desired

	seen Observed
	set  *chunks.Set // nil while a Job is active
	// written is the config Secret of the Job that is being created.
	written *corev1.Secret
	report  Report
}

func (p *pass) wrap(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("launch %s: %s: %w", p.id, step, err)
}

// gather reads what the decision needs. While a Job is active, or has to be booked, that is only Jobs and pods.
func (p *pass) gather(ctx context.Context) (err error) {
	if err := p.id.Validate(); err != nil {
		return err
	}
	if own := p.Clients.Namespace; own != "" && own != p.id.Namespace {
		return fmt.Errorf("the clients are those of namespace %s: make a launcher for the object's own", own)
	}
	p.seen = Observed{
		Object: p.id, Desired: p.desired, Template: p.object.Template().Defaulted(), WaitForForeignLock: p.WaitForForeignLock,
		Ownerless: p.ref.UID == "",
	}
	if p.seen.Runs, err = p.Clients.runs(ctx, p.id); err != nil {
		return err
	}
	if err := p.Clients.addPods(ctx, p.id, p.seen.Runs); err != nil {
		return err
	}
	p.report.Runs = p.seen.Runs
	p.seen.Now = p.now()
	if bookkeeping(p.seen) != nil || following(p.seen) != nil {
		return nil
	}
	return p.gatherIdle(ctx)
}

// gatherIdle reads what is true only while no Job is active.
func (p *pass) gatherIdle(ctx context.Context) (err error) {
	if err := p.gatherLock(ctx); err != nil {
		return err
	}
	if err := p.gatherState(ctx); err != nil {
		return err
	}
	p.report.State = p.seen.State.Summary
	p.report.Condition = p.condition()
	if p.desired.Op == naming.Restore && resting(p.seen) == nil {
		p.seen.Copy, err = p.copied(ctx)
	}
	return err
}

func (p *pass) gatherLock(ctx context.Context) error {
	owns := func(pod string) bool { return naming.OwnsPod(p.id, pod) }
	found, err := lock.Check(ctx, p.Clients.Leases, naming.LockLease(naming.Suffix(p.id)), owns, p.Clients.Phase)
	p.seen.Lock = &found
	return err
}

func (p *pass) gatherState(ctx context.Context) (err error) {
	if p.set, err = p.chunks().Gather(ctx, p.id); err != nil {
		p.metrics().StateRead(p.id, nil, err)
		return err
	}
	view := &p.seen.State
	view.Version = p.set.Version()
	view.Summary, view.Err = p.set.Read(p.seen.applied())
	if view.Err == nil || errors.Is(view.Err, state.Encrypted) {
		if err := p.set.CheckLabels(); err != nil {
			view.Err = err
		}
	}
	view.Unfilled = p.set.Unfilled()
	if errors.Is(view.Err, state.NotFound) || view.Unfilled && !p.seen.applied() {
		switch err := p.backups().CheckMissing(ctx, p.id); {
		case errors.Is(err, state.Lost):
			view.Err, view.Unfilled = err, false
		case err != nil:
			return err
		}
	}
	p.metrics().StateRead(p.id, view.Summary, view.Err)
	view.Orphaned = p.ref.UID != "" && !errors.Is(view.Err, state.Mislabelled) && p.orphaned()
	return nil
}

// orphaned reports whether a chunk lacks the object among its owners.
func (p *pass) orphaned() bool {
	for i := range p.set.Found {
		if _, ok := naming.StatePart(naming.Suffix(p.id), p.set.Found[i].Name); ok && !p.owned(&p.set.Found[i]) {
			return true
		}
	}
	return false
}

func (p *pass) owned(secret *corev1.Secret) bool {
	for _, ref := range secret.OwnerReferences {
		if ref.UID == p.ref.UID {
			return true
		}
	}
	return false
}

// condition puts first what nothing can work with, then who holds the lock, then what an apply would change.
func (p *pass) condition() state.Condition {
	err := p.seen.State.Err
	switch {
	case err != nil && !errors.Is(err, state.NotFound):
	case p.seen.Lock.Verdict == lock.Foreign:
		err = state.LockedBy(p.seen.Lock.Lock.Info.String())
	case err == nil && p.desired.InputsHash != "" && p.desired.Op == naming.Apply:
		err = p.seen.State.Summary.CheckInputs(p.desired.InputsHash)
	}
	return state.Readable(err)
}
