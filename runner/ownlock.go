package runner

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// observeLock learns the ID of the lock that the child has just taken: no runtime prints it. It is called
// at the first line that only a child with the lock prints, so whoever holds the lock then is the child.
func (r *run) observeLock() {
	if r.keeper == nil {
		return
	}
	r.observing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
		defer cancel()
		holder, err := r.keeper.Holder(ctx)
		if err != nil || holder == nil || !onThisHost(holder) {
			return // somebody took the lock away in this moment
		}
		r.update(func(res *result.Result) {
			r.ownLock = holder.ID
			setHolder(res.Lock, *holder)
		})
		r.save()
	})
}

// releaseOwnLock releases the lock that a child left behind: it was killed, and can never do so. Callers know
// that the child's whole group is gone.
func (r *run) releaseOwnLock(ctx context.Context) {
	if r.keeper == nil || r.ownLock == "" || r.holder().ID != r.ownLock {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	unlock, err := r.keeper.Release(ctx, r.ownLock)
	switch {
	case err != nil:
		r.log.Warn("the lock that this run's own child left could not be released: hand its ID down to the next run", "id", r.ownLock, "error", err)
	case unlock.Outcome == lock.Released:
		r.log.Info("released the lock that this run's own child left", "id", r.ownLock)
		r.update(func(res *result.Result) { res.Lock.Released = true })
	}
}

// adoptEarlierLock takes the lock that an earlier container of this same pod left for one that was handed
// down. The runner is PID 1, so every process of that container is gone.
func (r *run) adoptEarlierLock(ctx context.Context) {
	if r.opts.ForceUnlock != "" || r.keeper == nil || r.opts.Local || os.Getpid() != 1 || !inPod(r.host.Environ) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	holder, err := r.keeper.Holder(ctx)
	if err != nil || holder == nil {
		return
	}
	if !onThisHost(holder) {
		return
	}
	r.log.Warn("an earlier container of this pod left the state locked: its lock is released first", "holder", holder.String())
	r.opts.ForceUnlock = holder.ID
}

// onThisHost tells whether the lock was taken in this pod: its hostname is its own.
func onThisHost(holder *lock.Info) bool {
	host, err := os.Hostname()
	return err == nil && host != "" && holder.Host() == host
}

func inPod(environ []string) bool {
	return slices.ContainsFunc(environ, func(pair string) bool {
		host, ok := strings.CutPrefix(pair, "KUBERNETES_SERVICE_HOST=")
		return ok && host != ""
	})
}
