package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/captf/captf-runner/internal/fsync"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// unsavedState is a state that a runtime could not save.
type unsavedState struct {
	bytes   []byte
	serial  uint64
	lineage string
}

// The time that a rescue has. Without a stop the push gets the lock timeout; once one is requested it gets half
// of what is left, and the rescue set most of the rest.
const (
	pushShare = 0.5
	setShare  = 0.7
	setTime   = time.Minute
	// minPush is what the push gets however short the lock timeout is.
	minPush = 30 * time.Second
	// pressShare of the stop budget ends a push that hangs, maxPress at most.
	pressShare = 0.15
	maxPress   = 10 * time.Second
)

// within derives a context for a part of a rescue: it ends after d, or once a stop is requested after a share
// of what is left of the stop budget then. The rescue itself goes on after a stop.
func (r *run) within(ctx context.Context, d time.Duration, share float64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-r.stop.Done():
		}
		left := time.Duration(share * float64(time.Until(r.stop.Deadline())))
		select {
		case <-ctx.Done():
		case <-time.After(left):
			cancel()
		}
	}()
	return ctx, cancel
}

// rescue brings a state that a step could not save to safety (spec/runner.md, "A state that could not be
// saved"): into the backend, else into Secrets, else into the rescue directory.
func (r *run) rescue(ctx context.Context, f *failure, output *runtime.Output) {
	state, ok := r.unsaved(output)
	if !ok {
		if f.reason == result.ReasonStateWrite {
			// A full disk cut the file short: what there is of it stays where it is.
			r.update(func(res *result.Result) {
				res.State = &result.State{Saved: result.SavedLost, Where: r.work.root}
				res.Unsaved = listUnsaved(output.Changes)
			})
		}
		return
	}
	known := r.res.Unsaved
	r.update(func(res *result.Result) {
		res.State = &result.State{Saved: result.SavedLost, Serial: &state.serial, Lineage: state.lineage, Where: r.work.root}
		res.Unsaved = listUnsaved(output.Changes) // until it is safe
	})
	r.save()
	r.log.Error("the state could not be saved: rescuing it", "serial", state.serial, "lineage", state.lineage)
	saved, where := r.saveSomewhere(ctx, state)
	r.update(func(res *result.Result) {
		res.State.Saved, res.State.Where = saved, where
		if saved != result.SavedLost {
			res.Unsaved = known
		}
	})
	r.log.Warn("the state that could not be saved", "outcome", string(saved), "where", where)
	f.err = fmt.Errorf("%w; the state of this run: %s %s", f.err, saved, where)
	if saved == result.SavedPushed {
		r.removeErrored()
	}
}

// unsaved finds the state: printed, or in the file that the runtime left. A file that a full disk cut short is
// none.
func (r *run) unsaved(output *runtime.Output) (unsavedState, bool) {
	data := output.State
	if data == nil {
		data, _ = os.ReadFile(filepath.Join(r.work.root, erroredState))
	}
	state := unsavedState{bytes: data}
	var fields struct {
		Serial  uint64 `json:"serial"`
		Lineage string `json:"lineage"`
	}
	if len(data) == 0 || json.Unmarshal(data, &fields) != nil {
		return state, false
	}
	state.serial, state.lineage = fields.Serial, fields.Lineage
	return state, true
}

// saveSomewhere tries the three places in turn.
func (r *run) saveSomewhere(ctx context.Context, state unsavedState) (result.Saved, string) {
	err := r.push(ctx, state)
	if err == nil {
		return result.SavedPushed, ""
	}
	r.log.Warn("rescue: pushing the state again", "error", err)
	if set, ok := r.keeper.(rescuer); ok {
		ctx, cancel := r.within(ctx, setTime, setShare)
		defer cancel()
		where, err := set.Rescue(ctx, state)
		if err == nil {
			return result.SavedRescued, where
		}
		r.log.Warn("rescue: storing it in Secrets", "error", err)
	}
	if r.opts.RescueDir != "" {
		where, err := state.writeTo(r.opts.RescueDir)
		if err == nil {
			return result.SavedRescueDir, where
		}
		r.log.Warn("rescue: writing it to --rescue-dir", "error", err)
	}
	where, err := state.writeTo(r.work.dir)
	if err != nil {
		r.log.Error("rescue: the state is lost", "error", err)
		return result.SavedLost, r.work.root
	}
	r.removeErrored() // two copies would be pushed one after the other
	return result.SavedLost, where
}

// rescuer stores rescue sets.
type rescuer interface {
	Rescue(ctx context.Context, state unsavedState) (where string, err error)
}

// errRefused marks a push that the backend refused because something newer is there.
var errRefused = errors.New("the backend has another or a newer state")

// refused are the messages of such a push. It is never repeated with -force.
var refused = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot (import|overwrite)|over (newer|unrelated|existing) state|HTTP error: 409`)
})

// hopeless are the messages of a push that no repetition changes, such as that of a state that is too large.
var hopeless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Too long: must have at most|Request entity too large|HTTP error: 4(0[0-7]|1\d|2[0-24-8])`)
})

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
	case hopeless().MatchString(text):
		return backoff.Permanent(err)
	case strings.Contains(text, "is forbidden: "):
		return fmt.Errorf("%w: %w", errForbidden, err)
	}
	return err
}

const stepStatePush = "state-push"

// push repeats `state push`, under the lock and without -force, with exponential backoff.
func (r *run) push(ctx context.Context, state unsavedState) error {
	ctx, cancel := r.within(ctx, max(r.opts.LockTimeout, minPush), pushShare)
	defer cancel()
	stop := runtime.NewStop(min(maxPress, time.Duration(pressShare*float64(r.opts.StopTimeout))))
	end := context.AfterFunc(ctx, func() { stop.Request(context.Cause(ctx)) })
	defer end()
	r.notify("StepStarted", stepStatePush)
	attempt := 0
	var forbidden time.Time // since when
	once := func() error {
		attempt++
		err := r.pushOnce(ctx, stop, state, attempt)
		if !errors.Is(err, errForbidden) {
			return err
		}
		if forbidden.IsZero() {
			forbidden = time.Now()
		}
		if time.Since(forbidden) > forbiddenTime {
			return backoff.Permanent(err)
		}
		return err
	}
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(15*time.Second), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(once, backoff.WithContext(policy, ctx))
	r.notifyEnd(stepStatePush, err)
	return err
}

func (r *run) pushOnce(ctx context.Context, stop *runtime.Stop, state unsavedState, attempt int) error {
	r.releaseOwnLock(ctx) // the push needs it, and where it is kept may be back only now
	deadline, _ := ctx.Deadline()
	args := runtime.Args{LockTimeout: max(time.Until(deadline)/2, 0)}.StatePush("-", false)
	// Not under ctx: the stop has the better ladder.
	exit, output, err := r.rt.WithStop(stop).RunInput(context.Background(), args, bytes.NewReader(state.bytes), runtime.Discard)
	if err != nil {
		return err
	}
	r.record(stepStatePush, exit, attempt)
	if exit.Code == 0 {
		return nil
	}
	if runtime.Classify(exit, output, false) == runtime.FailureLockLost {
		r.log.Warn("somebody released the lock while the state was pushed: it was saved")
		return nil
	}
	return pushError(r.redact.String(output.Tail()))
}

// pushKept pushes the states that earlier runs in this working directory could not save, before anything is done
// on top of an older one. One that the backend refuses, because it has a newer or another state, is left where it is.
func (r *run) pushKept(ctx context.Context) error {
	for _, path := range r.work.keptStates() {
		data, err := os.ReadFile(path)
		if err != nil {
			return workdirError(err)
		}
		err = r.push(ctx, unsavedState{bytes: data})
		switch {
		case err == nil:
			r.log.Info("pushed the state that an earlier run could not save", "file", path)
			if err := os.Remove(path); err != nil {
				return workdirError(err)
			}
		case errors.Is(err, errRefused):
			r.log.Warn("the state that an earlier run could not save was refused: it is left as it is", "file", path, "error", err)
		case r.stop.Cause() != nil:
			return interrupted(r.stop, stepStatePush, "the step was interrupted")
		default:
			return &failure{kind: result.KindStep, reason: result.ReasonStateWrite, step: stepStatePush,
				err: fmt.Errorf("%s, a state that an earlier run could not save, could not be pushed either: %w", path, err)}
		}
	}
	return nil
}

// writeTo puts the state into a file of its own, durably. A file of that name is the same state.
func (s unsavedState) writeTo(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf(rescuedPrefix+"%s-%d-%s.tfstate", s.lineage, s.serial, s.digest()[:8]))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(s.bytes)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		os.Remove(path)
		return "", err
	}
	return path, fsync.Dir(dir)
}

// removeErrored removes the runtime's own copy of a state that is somewhere else now.
func (r *run) removeErrored() {
	if err := os.Remove(filepath.Join(r.work.root, erroredState)); err != nil && !os.IsNotExist(err) {
		r.log.Warn("the copy of a state that is saved now could not be removed", "error", err)
	}
}
