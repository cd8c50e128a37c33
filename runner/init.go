package runner

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

const stepInit = "init"

// initWithRetries repeats init, which changes nothing, after failures that are known to pass. No
// other step is ever repeated blindly (spec/runner.md, "Retries").
func (r *run) initWithRetries(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(15*time.Second))
	for attempt := 1; ; attempt++ {
		f := r.initOnce(ctx, attempt)
		if f == nil {
			return nil
		}
		if f.reason != result.ReasonRegistry || attempt > r.opts.InitRetries {
			return f
		}
		pause := pauses.NextBackOff()
		r.log.Warn("init failed in a way that is known to pass: trying again", "attempt", attempt, "pause", pause.Round(time.Millisecond), "error", f.err)
		if !r.sleep(ctx, pause) {
			return interrupted(r.stop, stepInit, "waiting to try again")
		}
	}
}

func (r *run) initOnce(ctx context.Context, attempt int) *failure {
	_, err := r.step(ctx, step{name: stepInit, args: runtime.Args.Init})
	if attempt > 1 {
		r.mergeAttempts(attempt)
	}
	if err == nil {
		return nil
	}
	return asFailure(err, r.stop)
}

// mergeAttempts keeps one entry for all tries of init.
func (r *run) mergeAttempts(attempt int) {
	r.update(func(res *result.Result) {
		steps := res.Steps
		if n := len(steps); n > 1 && steps[n-2].Name == stepInit {
			steps[n-1].Attempts = attempt
			res.Steps = append(steps[:n-2], steps[n-1])
		}
	})
	r.save()
}

// askVersion puts the runtime's version into the result.
func (r *run) askVersion(ctx context.Context) error {
	v, err := r.rt.Version(ctx)
	if err != nil {
		return err
	}
	r.update(func(res *result.Result) { res.Runtime.Version = v.String() })
	return nil
}
