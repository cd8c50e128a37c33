package runner

import (
	"context"
	"time"

	"github.com/captf/captf-runner/runner/lock"
)

// overdueWait stops a runtime that waits for the lock longer than it was told to. A runtime says when its wait begins,
// and not when it ends: one that has got the lock may be silent for long, until its providers have started.
type overdueWait struct {
	run    *run
	out    *sink
	since  time.Time // when the step began
	giveUp func()
}

// unlookedSilence is how much longer a runtime may be silent when nobody can look at its lock.
const unlookedSilence = 45 * time.Second

// check looks at the step after d, and again while it may still be waiting. It ends with the step's context.
func (w *overdueWait) check(ctx context.Context, d time.Duration) {
	timer := time.AfterFunc(d, func() {
		if ctx.Err() != nil || !w.out.stillWaiting() {
			return
		}
		holder, err := w.look(ctx)
		switch {
		case err != nil:
			time.AfterFunc(unlookedSilence, w.stop)
		case holder == nil: // the runtime sees that at its next look
			w.check(ctx, pollingStep)
		case onThisHost(holder) && !holder.Created.Before(w.since):
			w.out.gotLock()
		default:
			w.stop()
		}
	})
	context.AfterFunc(ctx, func() { timer.Stop() })
}

func (w *overdueWait) look(ctx context.Context) (*lock.Info, error) {
	if w.run.keeper == nil {
		return nil, errNoLook
	}
	ctx, cancel := w.run.lookAhead(ctx)
	defer cancel()
	return w.run.keeper.Holder(ctx)
}

func (w *overdueWait) stop() {
	if w.out.stillWaiting() {
		w.giveUp()
	}
}
