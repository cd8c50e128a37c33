package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// step is one command of the runtime.
type step struct {
	name    string
	args    func(runtime.Args) []string
	accepts []int         // exit codes besides 0
	locks   bool          // takes the lock, and waits for it when it is asked to
	changes bool          // what is real
	planned []plan.Change // all that it is going to change, when that is known before it runs
}

// mayLock tells whether the step may take the lock: an init does when there is no state.
func (s step) mayLock() bool { return s.locks || s.name == stepInit }

// done is what a step that ended well left.
type done struct {
	code   int
	output *runtime.Output
}

// step runs one step until it succeeds, fails, or is out of time for the lock. However often it is tried, those who
// watch the run are told of one begin and one end.
func (r *run) step(ctx context.Context, s step) (done, error) {
	pauses := lockPauses()
	for attempt := 1; ; attempt++ {
		if err := r.mayStart(ctx, s, attempt); err != nil {
			return done{}, err
		}
		exit, output, err := r.try(ctx, s)
		if err != nil {
			f := r.notStarted(s.name, err)
			r.notifyEnd(s.name, f)
			return done{}, f
		}
		r.report.record(s.name, exit, attempt)
		if (exit.Code == 0 || slices.Contains(s.accepts, exit.Code)) && !output.Broke() {
			r.ended(exit, output)
			r.notifyEnd(s.name, nil)
			return done{code: exit.Code, output: output}, nil
		}
		f := r.stepFailure(s.name, exit, output)
		r.local.blame(f)
		locked := f.reason == result.ReasonLocked
		if locked {
			if f = r.waitToRetry(ctx, s.name, pauses.NextBackOff(), output); f == nil {
				continue
			}
		}
		r.notifyEnd(s.name, f)
		if !locked {
			r.afterFailure(ctx, s, f, exit, output)
		}
		return done{}, f
	}
}

// mayStart waits until the step's process may be started.
func (r *run) mayStart(ctx context.Context, s step, attempt int) (err error) {
	if r.stop.Cause() != nil {
		err = interrupted(r.stop, s.name, "not started")
	} else if s.locks || attempt > 1 {
		err = r.awaitLock(ctx, s.name)
	}
	switch {
	case attempt > 1 && err != nil:
		r.notifyEnd(s.name, err)
	case attempt == 1 && err == nil:
		r.notify("StepStarted", s.name)
	}
	return err
}

// notStarted is the failure of a step whose process could not be started. Before anything ran it is the image's
// fault; later the machine is short of something.
func (r *run) notStarted(step string, err error) *failure {
	f := &failure{kind: result.KindStep, reason: result.ReasonBackend, step: step, err: fmt.Errorf("%w: %s", err, orMoreFiles(err, "try again"))}
	if len(r.report.Steps) == 0 && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC)) {
		f.kind, f.reason, f.err = result.KindImageLayout, result.ReasonConfig, err
	}
	return f
}

// waitToRetry is for a step that failed at the lock: a runtime or backend that ignores -lock-timeout
// fails at once, and init does whenever it has to make the first state.
func (r *run) waitToRetry(ctx context.Context, name string, pause time.Duration, output *runtime.Output) *failure {
	looking, cancel := r.lookAhead(ctx)
	r.lookAtLock(looking, output)
	cancel()
	r.correctUnlock()
	left := r.budget.left()
	if left < time.Second {
		f := r.lockedFailure(name)
		if r.report.holder().ID == "" { // else the runtime's text may name itself as the holder
			f.tail = output.Tail()
		}
		return f
	}
	start := time.Now()
	r.sleep(ctx, min(pause, left))
	r.waited(time.Since(start))
	return nil
}

// try runs the step's process once.
func (r *run) try(ctx context.Context, s step) (runtime.Exit, *runtime.Output, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r.child.begin()
	r.local.forgetFault()
	out, end := r.watch(ctx, s, giveUp)
	rt := r.rt
	if s.name == stepInit {
		rt = rt.ForInit()
	}
	exit, output, err := rt.Run(ctx, s.args(r.args()), out)
	r.child.gaveUp = context.Cause(ctx)
	end()
	r.waited(out.lockWait())
	if v := output.Version; v != "" {
		r.report.update(func(res *result.Result) { res.Runtime.Version = v })
	}
	if err != nil || exit.Code != 0 {
		out.show(output)
	}
	return exit, output, err
}

// watch begins all that goes on beside a step and goes by its output, until end.
func (r *run) watch(ctx context.Context, s step, giveUp context.CancelCauseFunc) (out *sink, end func()) {
	listing := r.newLister(ctx, s)
	out = &sink{
		console: r.console, progress: &progress{planned: len(s.planned)},
		locked: r.observeLock, planned: listing.list, journal: r.report.journal,
		hold: s.name == stepInit && r.opts.Local,
	}
	overdue := &overdueWait{
		log: r.log, out: out, giveUp: giveUp, work: runtime.WorkSoFar, holder: r.seeHolder, since: r.child.start,
	}
	limit := r.budget.left() + pollingStep
	out.opening = func() { overdue.begin(ctx, limit) }
	endTelling := r.tell(out.progress)
	return out, func() {
		endTelling()
		listing.end()
		r.child.observing.Wait()
		r.report.saver.settle()
	}
}

// args are the arguments that every step gets, with what is left of the lock budget.
func (r *run) args() runtime.Args {
	return runtime.Args{LockTimeout: r.budget.left(), BackendConfig: r.backend.args, VarFiles: r.inputs.varFiles}
}

// ended completes the result after a step that went well.
func (r *run) ended(exit runtime.Exit, output *runtime.Output) {
	r.report.setUnsaved(unsaved(exit, output))
	r.report.update(func(res *result.Result) {
		// Who had the lock in place of the handed-down ID is part of what the force-unlock found.
		setHolder(res.Lock, r.stale.other)
	})
	r.child.lock = ""
}

// afterFailure secures what a failed step left: its state, its lock, and what it may have changed.
func (r *run) afterFailure(ctx context.Context, s step, f *failure, exit runtime.Exit, output *runtime.Output) {
	r.report.setUnsaved(unsaved(exit, output))
	looking, cancel := r.look(ctx)
	r.lookAtLock(looking, output)
	cancel()
	r.child.fail(s, f, exit, output)
	// A state that is still to be rescued is pushed under a lock of its own, and compared with what is stored.
	r.releaseOwnLock(ctx)
	if f.step != stepStatePush { // that state is where it came from
		safe := r.rescue(ctx, f, output)
		if !cameToEnd(exit, output) {
			r.findSaved(ctx, s, output, safe)
		}
	}
	switch {
	case f.reason == result.ReasonLockLost:
		r.report.update(func(res *result.Result) { res.State = &result.State{Saved: result.SavedNormally} })
	case r.child.lock == "" || r.report.holder().ID != r.child.lock:
		r.report.setHolder(nil) // another run's, that this one has nothing to do with
	}
	r.tellLeftLock(ctx, f.step)
}
