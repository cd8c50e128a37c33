package launch

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/runner/event"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// keepState adopts and backs up what a run has written. A run that never had the lock has written nothing.
func (p *pass) keepState(ctx context.Context, r *Run) error {
	if r.Op == naming.Plan || r.Outcome.Untouched {
		return nil
	}
	if err := p.adopt(ctx, r); err != nil {
		return err
	}
	var err error
	if p.set, err = p.chunks().Gather(ctx, p.id); err != nil {
		return err
	}
	if err := p.backUp(ctx, r, true); err != nil {
		return err
	}
	return p.pruneBackups(ctx)
}

func (p *pass) pruneBackups(ctx context.Context) error {
	removed, err := p.backups().Prune(ctx, p.id, backup.Keep)
	if len(removed) > 0 {
		p.metrics().Pruned(p.id, len(removed))
	}
	return err
}

// adopt makes the object the owner of what a successful apply or restore wrote, and notes which inputs that came from.
func (p *pass) adopt(ctx context.Context, r *Run) error {
	if r.Outcome.Verdict != Succeeded || r.Op != naming.Apply && r.Op != naming.Restore || r.InputsHash == "" || p.owner(r).UID == "" {
		return nil
	}
	set, err := p.chunks().Gather(ctx, p.id)
	if err != nil || len(set.Found) == 0 {
		return err
	}
	want := p.adoption(p.owner(r))
	want.InputsHash = r.InputsHash
	_, err = p.chunks().Adopt(ctx, set, want)
	if errors.Is(err, state.Mislabelled) { // the next pass refuses by it; no result must wait until a person has come
		p.log().Warn("the state could not be adopted", "object", p.id.String(), "job", r.Name, "error", err)
		return nil
	}
	return err
}

// owner is the object, or whatever the Job was created for, if the launcher itself does not know the object.
func (p *pass) owner(r *Run) corev1.ObjectReference {
	if p.ref.UID != "" {
		return p.ref
	}
	return r.Owner
}

func (p *pass) adoption(ref corev1.ObjectReference) chunks.Adoption {
	owner := chunks.Owner{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
	return chunks.Adoption{Owner: owner, LockIsStale: p.lockIsStale()}
}

func (p *pass) lockIsStale() bool { return p.seen.Lock != nil && p.seen.Lock.Verdict == lock.Stale }

// backUp copies the state that was gathered last, unless there is a copy. One that cannot be read cannot be copied, and
// that is said; it stays where it is. again is for books, where a launcher may have died before it told of the copy.
func (p *pass) backUp(ctx context.Context, r *Run, again bool) error {
	set, made, err := p.backups().Take(ctx, p.set)
	if errors.Is(err, state.NotFound) {
		return nil
	}
	p.metrics().BackedUp(p.id, made, err)
	var reason state.Reason
	switch {
	case errors.As(err, &reason):
		return p.send(ctx, *r, r.Name+string(reason), event.New(event.StateBackupFailed, "%v", err))
	case err != nil:
		return err
	}
	if !made && !again {
		return nil
	}
	return p.send(ctx, *r, set.Name, event.New(event.StateBackedUp, "serial %d is in secret %s", set.Serial, set.Name))
}

// repair makes the object the owner of chunks that lost it.
func (p *pass) repair(ctx context.Context) error {
	live, _, err := p.holders(ctx)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		p.waitForLease(lease.WaitingForJob, live)
		return nil
	}
	e, err := p.chunks().Repair(ctx, p.set, p.adoption(p.ref), chunks.Pass{})
	if err != nil {
		return err
	}
	p.report.Again = true
	if e == nil { // the chunk without an owner has gone meanwhile
		return nil
	}
	return p.send(ctx, Run{}, p.set.Found[0].ResourceVersion, *e)
}

// cleanup removes what held the state of an object that is destroyed. Backups and rescue sets stay.
func (p *pass) cleanup(ctx context.Context) error {
	live, dead, err := p.holders(ctx)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		p.waitForLease(lease.WaitingForJob, live)
		return nil
	}
	deletion := chunks.Deletion{Object: p.id, Jobs: dead}
	if errors.Is(p.seen.State.Err, state.Encrypted) {
		deletion.EmptyVersion = p.seen.State.Version
		if err := p.markEmpty(ctx); err != nil {
			return err
		}
	}
	if p.lockIsStale() { // there is no Job any more that could release it
		deletion.StaleLock = p.seen.Lock.Lock.ID()
	}
	if err := p.chunks().Delete(ctx, deletion); err != nil {
		return err
	}
	p.report.Gone = true
	last := p.seen.lastWriter()
	if last == nil || len(p.set.Found) == 0 {
		return nil
	}
	return p.send(ctx, *last, last.Name, event.New(event.StateDeleted, "the state is gone after job %s", last.Name))
}

// markEmpty notes on the copy of an encrypted state that it has no resources: another object of this name may begin anew.
func (p *pass) markEmpty(ctx context.Context) error {
	set, _, err := p.backups().Take(ctx, p.set)
	if err != nil {
		return err
	}
	return p.backups().MarkEmpty(ctx, set)
}
