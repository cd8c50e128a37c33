package runner

import (
	"context"
	"time"

	"github.com/captf/captf-runner/runner/lock"
)

// lockKeeper looks at the lock of a run's state where the lock is kept, instead of reading
// what a runtime prints about it.
type lockKeeper interface {
	// Holder is who holds the lock; nil when it is free.
	Holder(ctx context.Context) (*lock.Info, error)
	// WaitFree waits until the lock is free or ctx ends.
	WaitFree(ctx context.Context) (lock.Wait, error)
	// HasState tells whether there is a state at all.
	HasState(ctx context.Context) (bool, error)
	// Release frees the lock while its holder is still this ID.
	Release(ctx context.Context, id string) (lock.Unlock, error)
}

// compare says what the release of id finds when this is who holds the lock, nil being nobody: Released means
// that id holds it.
func compare(holder *lock.Info, id string) lock.Unlock {
	switch {
	case holder == nil:
		return lock.Unlock{Outcome: lock.AlreadyUnlocked}
	case holder.ID != id:
		return lock.Unlock{Outcome: lock.HeldByOther, Holder: *holder}
	}
	return lock.Unlock{Outcome: lock.Released}
}

// releaseHeld releases the lock of a state server if its holder is id. The server compares the ID again: when it
// refuses, another look tells whether the lock was released, or handed to another, since the first one.
func releaseHeld(ctx context.Context, k lockKeeper, id string, release func() error) (lock.Unlock, error) {
	holder, err := k.Holder(ctx)
	if err != nil {
		return lock.Unlock{}, err
	}
	unlock := compare(holder, id)
	if unlock.Outcome != lock.Released {
		return unlock, nil
	}
	refused := release()
	if refused == nil {
		return unlock, nil
	}
	if holder, err = k.Holder(ctx); err == nil {
		unlock = compare(holder, id)
	}
	if err != nil || unlock.Outcome == lock.Released { // it still holds the lock
		return lock.Unlock{}, refused
	}
	return unlock, nil
}

// waitFree looks again and again until the lock is free. A look that fails ends it: the runtime's own wait
// has the better message.
func waitFree(ctx context.Context, k lockKeeper, every time.Duration) (wait lock.Wait, err error) {
	start := time.Now()
	defer func() { wait.Waited = time.Since(start) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		holder, err := k.Holder(ctx)
		if holder != nil {
			wait.Holder = *holder
		}
		if err != nil || holder == nil {
			return wait, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return wait, context.Cause(ctx)
		}
	}
}
