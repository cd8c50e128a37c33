package runner

import (
	"errors"
	"sync"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// child is what a run knows of the step's process that it started last, and of the lock which that took. No runtime
// prints the ID of its own lock, and one that is killed does not release it.
type child struct {
	start  time.Time
	gaveUp error // why the runner ended it, errOverdue or errUnanswered
	gone   bool  // no process of it is left

	lock     string    // the ID of the lock that it was seen to hold
	lockedAt time.Time // when it first showed that it has the lock
	leftLock bool      // it did not release it, or did not say so
	mayHave  bool      // it may have had it, whatever it showed

	observing sync.WaitGroup // the looks at its lock that go on
}

// begin is for a child that starts now.
func (c *child) begin() { c.start, c.lockedAt = time.Now(), time.Time{} }

// fail is for a child whose step failed.
func (c *child) fail(s step, f *failure, exit runtime.Exit, output *runtime.Output) {
	cut := diedOf(f.reason) || !cameToEnd(exit, output)
	c.gone = exit.GroupGone
	c.mayHave = cut && s.mayLock() || mayHaveLock(f, output)
	c.leftLock = c.mayHave || cut
}

// holds tells whether this holder of the lock, nil being nobody, is the child. It made the lock after its own start, and
// before it said that it has it: any other one is of somebody who took the lock away, or took it later.
func (c *child) holds(holder *lock.Info) bool {
	return holder != nil && onThisHost(holder) && !holder.Created.Before(c.start) && !holder.Created.After(c.lockedAt)
}

// mayHold tells whether this holder, seen after the step, is the child, or nil may yet become that: a request for the lock
// that was never answered may still be on its way.
func (c *child) mayHold(holder *lock.Info, step string) bool {
	if holder == nil {
		return step != stepInit && errors.Is(c.gaveUp, errUnanswered)
	}
	return onThisHost(holder) && !holder.Created.Before(c.start)
}

// leftUnseen tells of a child that has ended without the release of its lock, whose ID no look has shown.
func (c *child) leftUnseen() bool {
	return c.lock == "" && c.leftLock && c.gone && !c.lockedAt.IsZero()
}

// mayHaveLeft tells of a child that may have left a lock, whose ID no look has shown.
func (c *child) mayHaveLeft() bool {
	return c.lock == "" && c.leftLock && (c.mayHave || !c.lockedAt.IsZero())
}

// mayHaveLock tells whether a failed step may have had a lock that it could not release. The runtimes take it before
// they read the state, and say nothing of a release that fails after that did; the answer to a lock that was taken
// may be lost, too. One that was cut short may have had it whatever it said: a plan that only creates says nothing
// until it is made.
func mayHaveLock(f *failure, output *runtime.Output) bool {
	return f.reason == result.ReasonBackend || f.reason != result.ReasonLockLost && output.LeftLock()
}

// diedOf tells the reasons of a child that did not come to its end.
func diedOf(reason result.Reason) bool {
	return reason == result.ReasonKilled || reason == result.ReasonCrashed
}
