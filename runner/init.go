package runner

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

const stepInit = "init"

// initialise runs init and makes sure that it was a runtime which did that.
func (r *run) initialise(ctx context.Context) error {
	if err := <-r.outlook.selected; err != nil {
		return err
	}
	r.adoptEarlierLock(ctx)
	if err := r.adoptDeadLock(ctx); err != nil {
		return err
	}
	if err := r.clearBeforeInit(ctx); err != nil {
		return err
	}
	if r.stop.Cause() != nil {
		return interrupted(r.stop, stepInit, "not started")
	}
	output, err := r.initWithRetries(ctx)
	r.outlook.freeAt = <-r.outlook.free
	if !r.tellsVersion(output) && r.stop.Cause() == nil && !killed(err) && !errors.Is(err, syscall.EMFILE) {
		if noVersion := r.askVersion(ctx); noVersion != nil && r.stop.Cause() == nil {
			return layoutf("`%s version -json` gives no version, so it is neither tofu nor terraform: %w; %s", r.rt.Command[0], noVersion,
				r.opts.wayOut("put one into the image, or name it with --bin", "install one, or name it with --bin"))
		}
	}
	if err != nil {
		return err
	}
	return r.checkBackend()
}

// tellsVersion tells whether the result gets the version without a process for it, which would cost as
// much as half of init: a runtime prints it when it plans or applies. That it is a runtime, init's last words show.
func (r *run) tellsVersion(init *runtime.Output) bool {
	return r.opts.Op != naming.Restore && init != nil && strings.Contains(init.Text(), " has been successfully initialized!")
}

// killed tells of a runtime that was killed at once: whether it is one, nobody knows.
func killed(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.reason == result.ReasonKilled
}

// checkBackend makes sure that init configured the backend where the state is to go, when a file of the
// root could not be read whole: that one may declare another, and without any the state would be lost.
func (r *run) checkBackend() error {
	if len(r.inputs.module.Broken) == 0 {
		return nil
	}
	var kind string
	if configured := readPlace(r.work.configured()); configured != nil {
		kind = configured.Backend.Type
	}
	if kind != "" && (r.backend.kind == "" || kind == r.backend.kind) {
		return nil
	}
	return usagef("root: %s is larger than 1 MiB or nested too deep to be read, and init configured backend %q, not %q: the state would go elsewhere; declare the backend in a file of its own",
		strings.Join(r.inputs.module.Broken, ", "), kind, r.backend.kind)
}

// initWithRetries repeats init, which changes nothing, after failures that are known to pass. No
// other step is ever repeated blindly (spec/runner.md, "Retries").
func (r *run) initWithRetries(ctx context.Context) (*runtime.Output, error) {
	pauses := initPauses()
	for attempt := 1; ; attempt++ {
		output, f := r.initOnce(ctx, attempt)
		if f == nil {
			return output, nil
		}
		if f.reason != result.ReasonRegistry || attempt > r.opts.InitRetries {
			return nil, f
		}
		pause := pauses.NextBackOff()
		r.log.Warn("init failed in a way that is known to pass: trying again", "attempt", attempt, "pause", pause.Round(time.Millisecond), "error", f.err)
		if !r.sleep(ctx, pause) {
			return nil, interrupted(r.stop, stepInit, "waiting to try again")
		}
	}
}

// initPauses are the pauses between two tries of init.
func initPauses() backoff.BackOff { return pausesFrom(time.Second, 15*time.Second) }

func (r *run) initOnce(ctx context.Context, attempt int) (*runtime.Output, *failure) {
	d, err := r.step(ctx, step{name: stepInit, args: runtime.Args.Init})
	if attempt > 1 {
		r.mergeAttempts(attempt)
	}
	if err != nil {
		return nil, asFailure(err, r.stop)
	}
	return d.output, nil
}

// mergeAttempts keeps one entry for all tries of init.
func (r *run) mergeAttempts(attempt int) {
	r.report.update(func(res *result.Result) {
		steps := res.Steps
		if n := len(steps); n > 1 && steps[n-2].Name == stepInit {
			steps[n-1].Attempts = attempt
			res.Steps = append(steps[:n-2], steps[n-1])
		}
	})
	r.report.save()
}

// askVersion puts the runtime's version into the result.
func (r *run) askVersion(ctx context.Context) error {
	v, err := r.rt.Version(ctx)
	if err != nil {
		return err
	}
	r.report.update(func(res *result.Result) { res.Runtime.Version = v.String() })
	return nil
}
