package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/runtime"
)

// overdueWait stops a runtime that waits longer than it was told to for the lock, or without end for a server that never
// answers its request. A runtime says when its wait begins, at the most, and not when it ends: one that has got the lock
// may be silent for long, until its providers are done.
type overdueWait struct {
	log    *slog.Logger
	out    *sink
	giveUp context.CancelCauseFunc
	work   func() runtime.Work
	holder func(ctx context.Context) *lock.Info // who holds the lock; nil is nobody, or not known

	since time.Time // when the step began
	end   func()    // of the watch that goes on
}

// unansweredTime is how long a runtime that is overdue may do nothing at all.
const unansweredTime = 45 * time.Second

// Why a step was given up.
var (
	errOverdue    = errors.New("the wait for the lock is over")
	errUnanswered = errors.New("no answer from where the state lives")
)

// begin watches a step that opens its state from now on; a watch that began before ends.
func (w *overdueWait) begin(ctx context.Context, limit time.Duration) {
	if w.end != nil {
		w.end()
	}
	ctx, w.end = context.WithCancel(ctx)
	go w.watch(ctx, limit)
}

// watch looks at the step after the limit, and again while nothing is known.
func (w *overdueWait) watch(ctx context.Context, limit time.Duration) {
	var before runtime.Work
	for pause := limit; sleepWithin(ctx, pause) && w.out.stillOpening(); pause = unansweredTime {
		now := w.work()
		if now.HasPlugin() { // for which it needs the state
			w.out.opened()
			return
		}
		err := w.judge(w.holder(ctx), before, now)
		if err != nil && w.out.stillOpening() {
			w.log.Warn("the step waits longer than it was told to: it is asked to stop", "why", err)
			w.giveUp(err)
			return
		}
		before = now
	}
}

// judge decides about a step that is overdue: who holds its lock, as far as that is known, and what its processes had
// done at the look before and have done now. That the step itself holds the lock proves nothing: the answer that gave it
// may be lost.
func (w *overdueWait) judge(holder *lock.Info, before, now runtime.Work) error {
	switch {
	case w.out.waitsForLock() && holder != nil && (!onThisHost(holder) || holder.Created.Before(w.since)):
		return errOverdue
	case before != nil && now.Idle(before):
		return errUnanswered
	}
	return nil
}
