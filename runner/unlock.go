package runner

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

const stepForceUnlock = "force-unlock"

// staleLock is the lock that a run releases first: it was handed down, or an earlier run left it here.
type staleLock struct {
	id    string
	other lock.Info // who held the lock in its place
}

// clearBeforeInit releases a handed-down lock on a state that does not exist. With such a lock init
// and force-unlock both fail at once, because opening a state that is not there locks it
// (spec/runner.md, "A lock without a state"). A look that does not succeed leaves it to init to say why.
func (r *run) clearBeforeInit(ctx context.Context) error {
	if r.stale.id == "" || r.keeper == nil {
		return nil
	}
	looking, cancel := r.lookAhead(ctx)
	exists, err := r.keeper.HasState(looking)
	cancel()
	if exists || err != nil {
		return nil
	}
	if before, looked := r.judge(ctx); looked && before.Outcome == lock.Released {
		r.fence(ctx) // a run that was killed while it made the state may have left an empty Secret
	}
	releasing, cancel := r.lookAhead(ctx) // a busy server may have used up the first one
	defer cancel()
	unlock, err := r.keeper.Release(releasing, r.stale.id)
	if err != nil {
		return r.notReleased(fmt.Errorf("release lock %s of a state that does not exist: %w", r.stale.id, err))
	}
	r.setUnlock(unlock)
	return nil
}

// forceUnlock releases the lock that was handed down as stale, right after init. It is tolerant: a lock that is gone,
// or that another holder took since, is no error (spec/runner.md, "Force-unlock is tolerant, and careful").
func (r *run) forceUnlock(ctx context.Context) error {
	id := r.stale.id
	if id == "" || r.report.Lock.ForceUnlock != nil {
		return nil
	}
	before, looked := r.judge(ctx)
	if r.stop.Cause() != nil {
		return interrupted(r.stop, stepForceUnlock, "not started")
	}
	if looked && before.Outcome != lock.Released {
		r.setUnlock(before)
		return nil
	}
	if looked && r.cluster == nil {
		return r.releaseByServer(ctx)
	}
	if looked {
		r.fence(ctx)
	}
	if r.stop.Cause() != nil {
		return interrupted(r.stop, stepForceUnlock, "not started")
	}
	r.notify("StepStarted", stepForceUnlock)
	err := r.releaseByRuntime(ctx, id)
	r.notifyEnd(stepForceUnlock, err)
	return err
}

// releaseByRuntime has the runtime release the lock.
func (r *run) releaseByRuntime(ctx context.Context, id string) error {
	exit, text, err := r.rt.ForceUnlock(ctx, id)
	r.report.record(stepForceUnlock, exit, 1)
	switch {
	case r.stop.Cause() != nil && exit.Code != 0:
		return interrupted(r.stop, stepForceUnlock, "the step was interrupted")
	case err != nil:
		return &failure{kind: result.KindStep, reason: result.ReasonBackend, step: stepForceUnlock, err: err}
	}
	return r.afterUnlock(ctx, exit, text)
}

// releaseByServer has the state server release the lock: Terraform's force-unlock tells an http backend no
// ID, so it proves nothing, and a server that checks IDs refuses it.
func (r *run) releaseByServer(ctx context.Context) error {
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	unlock, err := r.keeper.Release(ctx, r.stale.id)
	if err != nil {
		return r.notReleased(err)
	}
	r.setUnlock(unlock)
	return nil
}

// notReleased is the failure of a release by the runner itself.
func (r *run) notReleased(err error) error {
	if r.stop.Cause() != nil {
		return interrupted(r.stop, stepForceUnlock, "the release was interrupted")
	}
	f := &failure{kind: result.KindStep, reason: result.ReasonBackend, step: stepForceUnlock, err: err}
	switch {
	case apierrors.IsForbidden(err):
		f.reason = result.ReasonRBAC
	case r.local != nil && isDiskFull(err):
		f.err, f.reason = r.local.stateError(err), result.ReasonDisk
	}
	if where := r.report.inheritedState(); where != "" {
		f.err = fmt.Errorf("%w; %s", f.err, r.whereabouts(result.SavedLost, where))
	}
	return f
}

// judge says, where the lock can be looked at, what a force-unlock would find: Released means that
// the handed-down ID still holds it.
func (r *run) judge(ctx context.Context) (lock.Unlock, bool) {
	if r.keeper == nil {
		return lock.Unlock{}, false
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	holder, err := r.keeper.Holder(ctx)
	if err != nil {
		return lock.Unlock{}, false
	}
	return compare(holder, r.stale.id), true
}

// afterUnlock decides what the command did: by a look at the lock, else by its text.
func (r *run) afterUnlock(ctx context.Context, exit runtime.Exit, text string) error {
	switch after, looked := r.judge(ctx); {
	case looked && after.Outcome == lock.Released && exit.Code == 0:
		// It says that it did, and the same ID still holds the lock.
		r.setUnlock(lock.Unlock{Outcome: lock.Unsupported})
		return nil
	case looked && after.Outcome != lock.Released:
		if exit.Code == 0 && after.Outcome == lock.AlreadyUnlocked {
			after.Outcome = lock.Released
		}
		r.setUnlock(after)
		return nil
	}
	if unlock, known := lock.ClassifyUnlock(exit.Code, text); known {
		r.setUnlock(unlock)
		return nil
	}
	r.console.Print(strings.TrimSpace(text))
	return r.stepFailure(stepForceUnlock, exit, runtime.TextOutput(text))
}

// correctUnlock is for a server that refused to release the very lock that it now says is held: Terraform
// sends an http backend no ID, so the server could not tell whose lock it was.
func (r *run) correctUnlock() {
	u := r.report.Lock.ForceUnlock
	if u != nil && u.Outcome == result.OutcomeHeldByOther && u.ID == r.report.Lock.ID {
		r.stale.other = lock.Info{}
		r.setUnlock(lock.Unlock{Outcome: lock.Unsupported})
	}
}

func (r *run) setUnlock(u lock.Unlock) {
	r.report.update(func(res *result.Result) {
		res.Lock.ForceUnlock = &result.ForceUnlock{ID: r.stale.id, Outcome: result.Outcome(u.Outcome)}
	})
	log := r.log.With("id", r.stale.id, "outcome", string(u.Outcome))
	switch u.Outcome {
	case lock.HeldByOther:
		r.stale.other = u.Holder
		r.report.setHolder(&u.Holder)
		log.Warn("the handed-down lock is not the one that is held: left alone", "holder", u.Holder.String())
	case lock.Unsupported:
		log.Warn("this backend cannot release a lock by that ID")
	default:
		log.Info("force-unlock")
	}
	r.report.save()
}
