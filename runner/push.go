package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// errRefused marks a push that the backend refused because something newer is there.
var errRefused = errors.New("the backend has another or a newer state")

// refused are the messages of such a push. It is never repeated with -force.
var refused = pattern(`cannot (import|overwrite)|over (newer|unrelated|existing) state|HTTP error: 409`)

// errUnreadable marks a push of what this runtime cannot read as a state. No run with it ever will.
var errUnreadable = errors.New("this runtime cannot read that state")

var unreadable = pattern(`(Failed to read|Error reading) source state|Unsupported state file format`)

// hopeless are the messages of a push that no repetition changes, such as that of a state that is too large.
var hopeless = pattern(`Too long: (must have at most|may not be more than)|Request entity too large|HTTP error: 4(0[0-7]|1\d|2[0-24-8])`)

// errForbidden marks a push without the right to write. An API server that was just started says so for some seconds,
// until it has read the roles.
var errForbidden = errors.New("forbidden")

// forbiddenTime is how long a push that is forbidden is repeated.
const forbiddenTime = 10 * time.Second

// pushError sorts the message of a push that failed into what is worth another try and what is not.
func pushError(text string) error {
	err := errors.New(result.Tail(text))
	switch text = strings.Join(strings.Fields(text), " "); { // it is wrapped
	case refused().MatchString(text):
		return backoff.Permanent(fmt.Errorf("%w: %w", errRefused, err))
	case unreadable().MatchString(text):
		return backoff.Permanent(fmt.Errorf("%w: %w", errUnreadable, err))
	case hopeless().MatchString(text):
		return backoff.Permanent(err)
	case strings.Contains(text, "is forbidden: "):
		return fmt.Errorf("%w: %w", errForbidden, err)
	}
	return err
}

// pushNotStarted sorts the error of a push whose process could not be started.
func pushNotStarted(err error) error {
	if errors.Is(err, syscall.EMFILE) { // waiting gives the runner no more
		return backoff.Permanent(fmt.Errorf("%w: %s", err, orMoreFiles(err, "")))
	}
	return err
}

const stepStatePush = "state-push"

// pushWait is the most that one push waits for the lock. It may be the run's own, which could not be released when
// the push was started: the next push releases it.
const pushWait = 15 * time.Second

// push repeats `state push`, under the lock and without -force, with exponential backoff.
func (r *run) push(ctx context.Context, state unsavedState) error {
	ctx, cancel := r.within(ctx, max(r.opts.LockTimeout, minPush), pushShare)
	defer cancel()
	stop := runtime.NewStop(min(maxPress, time.Duration(pressShare*float64(r.opts.StopTimeout))))
	end := context.AfterFunc(ctx, func() { stop.Request(context.Cause(ctx)) })
	defer end()
	p := &pusher{once: func(attempt int) error { return r.pushOnce(ctx, stop, state, attempt) }, fault: r.local.stateFault}
	r.notify("StepStarted", stepStatePush)
	pauses := backoff.WithContext(pausesFrom(time.Second, 15*time.Second), ctx)
	err := backoff.RetryNotify(p.try, pauses, func(err error, pause time.Duration) {
		r.log.Warn("the state could not be pushed: it is tried again", "in", pause.Round(time.Second), "error", err)
	})
	err = outOfTime(ctx, err, p.last)
	r.notifyEnd(stepStatePush, err)
	return err
}

// pusher is what the tries of a push have in common.
type pusher struct {
	once      func(attempt int) error
	fault     func() error // of the disk that the state goes to
	attempts  int
	forbidden time.Time // when one first was
	last      error
}

// try pushes once. Its error is permanent when another try would not change it.
func (p *pusher) try() error {
	p.attempts++
	if p.last = p.once(p.attempts); p.last == nil {
		return nil
	}
	if fault := p.fault(); fault != nil {
		p.last = fault
		return backoff.Permanent(fault) // a person has to see to it
	}
	if !errors.Is(p.last, errForbidden) {
		return p.last
	}
	if p.forbidden.IsZero() {
		p.forbidden = time.Now()
	}
	if time.Since(p.forbidden) > forbiddenTime {
		return backoff.Permanent(p.last)
	}
	return p.last
}

func (r *run) pushOnce(ctx context.Context, stop *runtime.Stop, state unsavedState, attempt int) error {
	r.releaseOwnLock(ctx) // the push needs it, and where it is kept may be back only now
	deadline, _ := ctx.Deadline()
	wait := min(max(time.Until(deadline)/2, 0), pushWait)
	if r.local.diskFault() != nil {
		wait = 0 // nobody can release a lock on that disk
	}
	args := runtime.Args{LockTimeout: wait}.StatePush("-", false)
	// Not under ctx: the stop has the better ladder.
	exit, output, err := r.rt.WithStop(stop).RunInput(context.Background(), args, bytes.NewReader(state.bytes), runtime.Discard)
	if err != nil {
		return pushNotStarted(err)
	}
	r.report.record(stepStatePush, exit, attempt)
	if exit.Code == 0 {
		return nil
	}
	if runtime.Classify(exit, output, false) == runtime.FailureLockLost {
		r.log.Warn("somebody released the lock while the state was pushed: it was saved")
		return nil
	}
	err = pushError(r.redact.String(output.Tail()))
	if errors.Is(err, errRefused) && sameContent(r.pullState(ctx), state.bytes) {
		r.log.Info("the backend refuses the state because it has it already, with the same resources and outputs")
		return nil
	}
	return err
}

// sameContent tells whether two states have the same resources and outputs. The serials may differ: what is pushed gets
// one of its own. So may the lineages, of a state that had none.
func sameContent(one, other []byte) bool {
	var a, b struct {
		Resources []any
		Outputs   map[string]any
	}
	return json.Unmarshal(one, &a) == nil && json.Unmarshal(other, &b) == nil && len(a.Resources) > 0 && reflect.DeepEqual(a, b)
}

// pushKept pushes the states that earlier runs in this working directory could not save, before anything is done
// on top of an older one. One that the backend refuses, because it has a newer or another state, is left where it is; so
// is one of which only a part was written.
func (r *run) pushKept(ctx context.Context) error {
	kept, inherited, err := r.keptStates()
	if err != nil {
		return err
	}
	for _, path := range kept {
		if err := r.pushFile(ctx, path); err != nil {
			return err
		}
		if path == inherited {
			r.report.forgetInherited()
		}
	}
	return nil
}

// pushFile deals with one of these states. An error says that it still is to be pushed.
func (r *run) pushFile(ctx context.Context, path string) error {
	if err := r.checkPlace(path); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return workdirError(err)
	}
	state, ok := newUnsavedState(data)
	if !ok {
		r.log.Warn("the state that an earlier run could not save was cut short when it was written, and is lost: "+
			"look into the file for what that run made, then remove it", "file", path)
		return nil
	}
	switch err := r.pushWhenFree(ctx, state); {
	case err == nil:
		r.log.Info("pushed the state that an earlier run could not save", "file", path)
		if err := os.Remove(path); err != nil {
			return workdirError(err)
		}
		_ = os.Remove(placeNote(path))
		return nil
	case errors.Is(err, errRefused):
		r.log.Warn("the state that an earlier run could not save was refused: it is left as it is", "file", path, "error", err)
		return nil
	case r.stop.Cause() != nil:
		return interrupted(r.stop, stepStatePush, "the step was interrupted")
	default:
		return r.stillUnsaved(path, state, err)
	}
}

// pushWhenFree waits for the lock first: a push that fails for it says less of who holds it.
func (r *run) pushWhenFree(ctx context.Context, state unsavedState) error {
	if err := r.awaitLockOrFail(ctx, stepStatePush); err != nil {
		return err
	}
	return r.push(ctx, state)
}

// stillUnsaved is the failure of a run that could not push the state of an earlier one. The result goes on telling
// where that state is, and who holds the lock when that is why.
func (r *run) stillUnsaved(path string, state unsavedState, err error) *failure {
	f := &failure{kind: result.KindStep, reason: result.ReasonStateWrite, step: stepStatePush, err: err}
	if isDiskFull(err) {
		f.reason = result.ReasonDisk
	}
	errors.As(err, &f) // of the wait for the lock
	wayOut := r.whereabouts(result.SavedLost, path)
	if errors.Is(err, errUnreadable) {
		wayOut = "run again with the runtime that wrote " + path + ", or look into it for what that run made, then move it out of " + filepath.Dir(path)
	}
	f.err = fmt.Errorf("a state that an earlier run could not save could not be pushed either: %w; %s", f.err, wayOut)
	if r.report.State == nil {
		r.report.update(func(res *result.Result) {
			res.State = &result.State{Saved: result.SavedLost, Serial: &state.serial, Lineage: state.lineage, Where: path}
		})
	}
	return f
}

// keptStates are the files of all states that earlier runs could not save and that this run has to care for. One of them
// may be that which it has inherited.
func (r *run) keptStates() (kept []string, inherited string, err error) {
	for _, w := range r.workspaces() {
		found, err := w.keptStates()
		if err != nil {
			return nil, "", err
		}
		kept = append(kept, found...)
	}
	inherited = r.report.inheritedState()
	if inherited != "" && !slices.Contains(kept, inherited) {
		kept = append(kept, inherited)
	}
	return kept, inherited, nil
}

// forgetInherited takes what the earlier run said about its state out of the result: it was dealt with.
func (rp *report) forgetInherited() {
	rp.update(func(res *result.Result) { res.State = nil })
}
