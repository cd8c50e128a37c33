package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// pollingStep is how late a runtime may notice that a lock is free, and so how late one that keeps to
// its -lock-timeout may give up.
const pollingStep = 16 * time.Second

// lockBudget bounds the sum of all waits for the lock in a run (spec/runner.md, "The lock wait is bounded").
type lockBudget struct{ total, used time.Duration }

func (b *lockBudget) use(d time.Duration) { b.used += d }

func (b *lockBudget) left() time.Duration { return max(b.total-b.used, 0) }

// waited takes what was spent waiting for the lock from the budget.
func (r *run) waited(d time.Duration) {
	r.budget.use(d)
	r.report.update(func(res *result.Result) { res.Lock.WaitedSeconds = result.Seconds(r.budget.used) })
}

// errNotFree ends a wait that used up the budget.
var errNotFree = errors.New("lock timeout reached")

// awaitLock waits, before a step is started, until the lock is free: the runner sees that within
// seconds, a runtime up to 16 s late. Without a lockKeeper it is left to the runtime. A look that does not
// succeed is left to the runtime too: it has the better message.
func (r *run) awaitLock(ctx context.Context, step string) error {
	if r.keeper == nil || r.budget.left() == 0 || r.outlook.justFree() {
		return nil
	}
	holder := r.seeHolder(ctx)
	if holder == nil {
		return nil
	}
	r.log.Info("waiting for the lock", "step", step, "holder", holder.String(), "for at most", r.budget.left().Round(time.Second))
	return r.awaitHolder(ctx, step, holder)
}

// seeHolder looks, before a step or beside it, who holds the lock; nil is nobody, or not known.
func (r *run) seeHolder(ctx context.Context) *lock.Info {
	if r.keeper == nil {
		return nil
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	holder, err := r.keeper.Holder(ctx)
	if err != nil {
		return nil
	}
	return holder
}

// awaitLockOrFail is awaitLock for a step that nobody waits for: with no time to wait, a held lock is a failure at once.
func (r *run) awaitLockOrFail(ctx context.Context, step string) error {
	if err := r.awaitLock(ctx, step); err != nil || r.keeper == nil || r.budget.left() > 0 {
		return err
	}
	if holder := r.seeHolder(ctx); holder != nil {
		r.report.setHolder(holder)
		return r.lockedFailure(step)
	}
	return nil
}

// awaitHolder waits for a held lock and takes the time from the budget.
func (r *run) awaitHolder(ctx context.Context, step string, holder *lock.Info) error {
	ctx, cancel := r.stop.Context(ctx)
	defer cancel()
	ctx, cancelWait := context.WithTimeoutCause(ctx, r.budget.left(), errNotFree)
	defer cancelWait()
	wait, err := r.keeper.WaitFree(ctx)
	r.waited(wait.Waited)
	r.report.setHolder(holder)
	switch {
	case err == nil:
		r.report.setHolder(nil)
		return nil
	case r.stop.Cause() != nil:
		return interrupted(r.stop, step, "waiting for the lock")
	case errors.Is(context.Cause(ctx), errNotFree):
		if wait.Holder.ID != "" {
			r.report.setHolder(&wait.Holder)
		}
		return r.lockedFailure(step)
	}
	return nil
}

func (r *run) lockedFailure(step string) *failure {
	wayOut := "try again when it is free, or hand its ID down by --force-unlock when its holder is dead"
	if c := r.cluster; c != nil && r.report.holder().ID == "" {
		wayOut = "if the holder in Lease " + c.lease() + " is the empty string, no runtime can take or release it: " +
			"captf lock release " + c.lease() + " repairs it"
	}
	return &failure{
		kind: result.KindStep, reason: result.ReasonLocked, step: step,
		err: fmt.Errorf("the state is locked, and still was after %s of --lock-timeout %s: %s; %s",
			r.budget.used.Round(time.Second), r.budget.total, r.report.holder(), wayOut),
	}
}

// lookAtLock puts who holds the lock now into the result: another run that this one waits for, or this
// run's own child that could not unlock. The context bounds it.
func (r *run) lookAtLock(ctx context.Context, out *runtime.Output) {
	if r.keeper != nil {
		if holder, err := r.keeper.Holder(ctx); err == nil {
			r.report.setHolder(holder)
			return
		}
	}
	if info, ok := lock.ParseText(out.Tail() + "\n" + out.Text()); ok {
		r.report.setHolder(&info)
	}
}

// lockPauses are the waits between the tries of a step that does not wait for the lock itself. Two runs that began at
// once must not go on to meet at it.
func lockPauses() backoff.BackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(8*time.Second), backoff.WithMaxElapsedTime(0)) // the budget ends them
}
