package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Poll says how often WaitFree looks: after First, then ever less often until it is every Max, each
// time within 20 % of that. Zero values mean one second and five.
type Poll struct {
	First, Max time.Duration
}

// Wait tells how a wait went.
type Wait struct {
	Waited time.Duration
	Holder Info // who was last seen to hold the lock; zero when nobody ever was
}

// WaitFree looks at the lock until it is free or ctx ends. It polls, because the role of a Job may
// get a Lease but not watch it. No answer, and an answer that may be another one soon, is tolerated;
// one that will not (forbidden) ends the wait. When ctx ends the error wraps ctx's and names the
// holder, or what kept the last look from succeeding.
func WaitFree(ctx context.Context, leases Getter, name string, poll Poll) (Wait, error) {
	start := time.Now()
	var w Wait
	var reason error // why the last look that was not cut short did not find the lock free
	look := func() error {
		l, err := get(ctx, leases, name)
		if err == nil && l.Held() {
			w.Holder = l.Info
			err = errors.New(w.Holder.String())
		}
		if err != nil && (reason == nil || ctx.Err() == nil) {
			reason = err
		}
		if err != nil && !passing(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	err := backoff.Retry(look, backoff.WithContext(poll.policy(), ctx))
	w.Waited = time.Since(start)
	switch {
	case err == nil:
		return w, nil
	case ctx.Err() != nil:
		return w, fmt.Errorf("wait for lock %s: %w: %w", name, ctx.Err(), reason)
	}
	return w, fmt.Errorf("wait for lock %s: %w", name, err)
}

func (p Poll) policy() backoff.BackOff {
	first, limit := p.First, p.Max
	if first <= 0 {
		first = time.Second
	}
	if limit <= 0 {
		limit = 5 * time.Second
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first),
		backoff.WithMaxInterval(limit),
		backoff.WithRandomizationFactor(0.2),
		backoff.WithMaxElapsedTime(0), // ctx alone ends the wait
	)
}
