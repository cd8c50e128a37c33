package runner

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// observeLock learns the ID of the lock that the child has just taken: no runtime prints it. It is called
// at the first line that only a child with the lock prints, so whoever holds the lock then is the child.
func (r *run) observeLock() {
	r.child.lockedAt = time.Now()
	if r.keeper == nil {
		return
	}
	r.child.observing.Go(func() { r.findOwnLock(context.Background()) })
}

// findOwnLock notes the ID of the child's lock.
func (r *run) findOwnLock(ctx context.Context) {
	ctx, cancel := r.look(ctx)
	defer cancel()
	holder, err := r.keeper.Holder(ctx)
	if err != nil || !r.child.holds(holder) {
		return
	}
	r.report.update(func(res *result.Result) {
		r.child.lock = holder.ID
		setHolder(res.Lock, *holder)
	})
	r.report.save()
}

// lookForLeftLock looks for the child's lock after its end, when the look at the right moment had no answer: the
// rights to it, or the network, went just after the lock was taken, and may be back. Only a child that did not
// release the lock has left it.
func (r *run) lookForLeftLock(ctx context.Context) {
	if r.keeper != nil && r.child.leftUnseen() {
		r.findOwnLock(ctx)
	}
}

// holdsOwnLock tells whether the lock that the child was seen to hold still is the one that is held.
func (r *run) holdsOwnLock() bool {
	return r.child.lock != "" && !r.report.Lock.Released && r.report.holder().ID == r.child.lock
}

// releaseOwnLock releases the lock that a child left behind: it was killed, or could not reach the lock, and can
// never do so later. It does nothing while a process of that child may be alive.
func (r *run) releaseOwnLock(ctx context.Context) {
	r.lookForLeftLock(ctx)
	if r.keeper == nil || !r.child.gone || !r.holdsOwnLock() {
		return
	}
	r.fenceOwn(ctx)
	ctx, cancel := r.look(ctx)
	defer cancel()
	unlock, err := r.keeper.Release(ctx, r.child.lock)
	switch {
	case err != nil:
		next := "hand its ID down to the next run"
		if r.opts.Local {
			next = "the next run of this module does that"
		}
		r.log.Warn("the lock that this run's own child left could not be released: "+next, "id", r.child.lock, "error", err)
	case unlock.Outcome == lock.Released:
		r.log.Info("released the lock that this run's own child left", "id", r.child.lock)
		r.report.update(func(res *result.Result) { res.Lock.Released = true })
	}
}

// tellLeftLock is for a lock that a child had, did not release, and whose ID could not be learned: nobody else knows
// that it may be held. A lock that this host took meanwhile is most likely that one, but not surely, and is left
// alone. An init takes one only when there is no state: it is told of when it is seen.
func (r *run) tellLeftLock(ctx context.Context, step string) {
	if !r.child.mayHaveLeft() || r.report.State != nil && r.report.State.Saved == result.SavedPushed {
		return
	}
	err := errNoLook
	if r.keeper != nil {
		var holder *lock.Info
		ctx, cancel := r.look(ctx)
		defer cancel()
		if holder, err = r.keeper.Holder(ctx); err == nil && !r.child.mayHold(holder, step) {
			return
		}
		r.report.setHolder(holder)
	}
	if err != nil && step == stepInit {
		return
	}
	r.log.Warn("the lock of this run may still be held, and its ID could not be learned: a lock of this host since then is that one",
		"since", r.child.start.UTC().Format(time.RFC3339), "error", err)
	r.report.update(func(res *result.Result) { res.Lock.MaybeHeld = true })
}

// adoptEarlierLock takes the lock that an earlier container of this same pod left for one that was handed
// down. The runner is PID 1, so every process of that container is gone; and the pod is this Job's own, by
// its hostname: with hostNetwork, or a hostname that was chosen, others could have the same. A container that is started
// again still has the ID that was handed down to the first one, who released that lock and then took its own.
func (r *run) adoptEarlierLock(ctx context.Context) {
	if os.Getpid() != 1 || !podOfJob(r.opts.JobName) {
		return
	}
	holder := r.seeHolder(ctx)
	if holder == nil || !onThisHost(holder) {
		return
	}
	r.log.Warn("an earlier container of this pod left the state locked: its lock is released first", "holder", holder.String())
	r.stale.id = holder.ID
}

// podOfJob tells whether this host is a pod of the Job: the Job's name, a hyphen and five characters.
func podOfJob(job string) bool {
	host, err := os.Hostname()
	suffix, ok := strings.CutPrefix(host, job+"-")
	return err == nil && job != "" && ok && len(suffix) == 5
}

// onThisHost tells whether the lock was taken in this pod: its hostname is its own.
func onThisHost(holder *lock.Info) bool {
	host, err := os.Hostname()
	return err == nil && host != "" && holder.Host() == host
}
