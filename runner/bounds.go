package runner

import (
	"context"
	"time"
)

// lookTimeout bounds one request to where the lock or the state is kept.
const lookTimeout = 5 * time.Second

// lookShare is what such a request may take of what is left of the stop budget.
const lookShare = 0.2

// lookAhead bounds such a request before a step: by a few seconds and by the request to stop, after which there is
// no such step.
func (r *run) lookAhead(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancelStop := r.stop.Context(ctx)
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	return ctx, func() { cancel(); cancelStop() }
}

// look bounds such a request after a step, which has to be made after a request to stop as well, and goes on when that
// comes meanwhile: then by a share of what is left of the stop budget.
func (r *run) look(ctx context.Context) (context.Context, context.CancelFunc) {
	return r.within(ctx, lookTimeout, lookShare)
}

// minWithin is what a part of a rescue gets when the stop budget is used up.
const minWithin = 100 * time.Millisecond

// within derives a context for a part of a rescue: it ends after d, or once a stop is requested after a share
// of what is left of the stop budget then. The rescue itself goes on after a stop.
func (r *run) within(ctx context.Context, d time.Duration, share float64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	unhook := r.stop.AfterFunc(func() {
		left := time.Duration(share * float64(time.Until(r.stop.Deadline())))
		time.AfterFunc(max(left, minWithin), cancel)
	})
	return ctx, func() { unhook(); cancel() }
}

// sleep waits for d, a stop or the end of ctx; it reports whether it slept to the end.
func (r *run) sleep(ctx context.Context, d time.Duration) bool {
	ctx, cancel := r.stop.Context(ctx)
	defer cancel()
	return sleepWithin(ctx, d)
}

// sleepWithin waits for d or the end of ctx; it reports whether it slept to the end.
func sleepWithin(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
