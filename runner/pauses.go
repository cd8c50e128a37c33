package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// pausesFrom are pauses between tries, half as long again each time up to most. They never end: a context does that, or
// a number of tries.
func pausesFrom(first, most time.Duration) backoff.BackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(first), backoff.WithMaxInterval(most), backoff.WithMaxElapsedTime(0))
}

// outOfTime adds the error of the last try to that of a ctx which ended the tries: to be out of time tells nobody why.
func outOfTime(ctx context.Context, err, last error) error {
	if err != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", err, last)
	}
	return err
}
