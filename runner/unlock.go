package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

const stepForceUnlock = "force-unlock"

// clearBeforeInit releases a handed-down lock on a state that does not exist. With such a lock init
// and force-unlock both fail at once, because opening a state that is not there locks it
// (spec/runner.md, "A lock without a state"). A look that does not succeed leaves it to init to say why.
func (r *run) clearBeforeInit(ctx context.Context) error {
	if r.opts.ForceUnlock == "" || r.keeper == nil {
		return nil
	}
	if exists, err := r.keeper.HasState(ctx); exists || err != nil {
		return nil
	}
	unlock, err := r.keeper.Release(ctx, r.opts.ForceUnlock)
	if err != nil {
		return &failure{kind: result.KindStep, reason: result.ReasonRBAC, step: stepForceUnlock,
			err: fmt.Errorf("release lock %s of a state that does not exist: %w", r.opts.ForceUnlock, err)}
	}
	r.setUnlock(unlock)
	return nil
}

// forceUnlock releases the lock that was handed down as stale, right after init. It is tolerant: a
// lock that is gone, or that another holder took since, is no error (spec/runner.md, "Force-unlock is tolerant, and careful").
func (r *run) forceUnlock(ctx context.Context) error {
	id := r.opts.ForceUnlock
	if id == "" || r.res.Lock.ForceUnlock != nil {
		return nil
	}
	if r.stop.Cause() != nil {
		return interrupted(r.stop, stepForceUnlock, "not started")
	}
	if before, ok := r.judge(ctx); ok && before.Outcome != lock.Released {
		r.setUnlock(before)
		return nil
	}
	if r.local != nil {
		return r.releaseLocal(ctx)
	}
	start := time.Now()
	code, text, err := r.rt.ForceUnlock(ctx, id)
	r.record(stepForceUnlock, runtime.Exit{Code: code, Duration: time.Since(start)}, 1)
	switch {
	case r.stop.Cause() != nil && code != 0:
		return interrupted(r.stop, stepForceUnlock, "the step was interrupted")
	case err != nil:
		return &failure{kind: result.KindStep, reason: result.ReasonBackend, step: stepForceUnlock, err: err}
	}
	return r.afterUnlock(ctx, code, text)
}

// releaseLocal releases the lock in the state server that is part of this run: Terraform's own
// force-unlock tells an http backend no ID, so it would prove nothing.
func (r *run) releaseLocal(ctx context.Context) error {
	unlock, err := r.keeper.Release(ctx, r.opts.ForceUnlock)
	if err != nil {
		return &failure{kind: result.KindStep, reason: result.ReasonBackend, step: stepForceUnlock, err: err}
	}
	r.setUnlock(unlock)
	return nil
}

// judge says, where the lock can be looked at, what a force-unlock would find: Released means that
// the handed-down ID still holds it.
func (r *run) judge(ctx context.Context) (lock.Unlock, bool) {
	if r.keeper == nil {
		return lock.Unlock{}, false
	}
	holder, err := r.keeper.Holder(ctx)
	switch {
	case err != nil:
		return lock.Unlock{}, false
	case holder == nil:
		return lock.Unlock{Outcome: lock.AlreadyUnlocked}, true
	case holder.ID != r.opts.ForceUnlock:
		return lock.Unlock{Outcome: lock.HeldByOther, Holder: *holder}, true
	}
	return lock.Unlock{Outcome: lock.Released}, true
}

// afterUnlock decides what the command did: by a look at the lock, else by its text.
func (r *run) afterUnlock(ctx context.Context, code int, text string) error {
	if after, ok := r.judge(ctx); ok && after.Outcome != lock.Released {
		if code == 0 && after.Outcome == lock.AlreadyUnlocked {
			after.Outcome = lock.Released
		}
		r.setUnlock(after)
		return nil
	}
	if unlock, known := lock.ClassifyUnlock(code, text); known {
		r.setUnlock(unlock)
		return nil
	}
	return r.stepFailure(stepForceUnlock, runtime.Exit{Code: code}, runtime.TextOutput(text))
}

func (r *run) setUnlock(u lock.Unlock) {
	r.update(func(res *result.Result) {
		res.Lock.ForceUnlock = &result.ForceUnlock{ID: r.opts.ForceUnlock, Outcome: result.Outcome(u.Outcome)}
	})
	log := r.log.With("id", r.opts.ForceUnlock, "outcome", string(u.Outcome))
	switch u.Outcome {
	case lock.HeldByOther:
		r.setHolder(&u.Holder)
		log.Warn("the handed-down lock is not the one that is held: left alone", "holder", u.Holder.String())
	case lock.Unsupported:
		log.Warn("this backend cannot release a lock by that ID")
	default:
		log.Info("force-unlock")
	}
	r.save()
}
