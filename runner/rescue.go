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
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// unsavedState is a state that a runtime could not save.
type unsavedState struct {
	bytes   []byte
	serial  uint64
	lineage string
}

// Shares of the time that a rescue has. The rest is for the rescue set.
const (
	pushShare  = 0.5
	pressShare = 0.2 // to end a push that hangs
	// resultReserve is what the last write of the result needs.
	resultReserve = time.Second
	// minRescue is what a rescue gets when nothing presses it, however short the lock timeout is.
	minRescue = 30 * time.Second
)

// rescue brings a state that a step could not save to safety (spec/runner.md, "A state that could not be
// saved"): into the backend, else into Secrets, else into the rescue directory.
func (r *run) rescue(ctx context.Context, f *failure, output *runtime.Output) {
	state, ok := r.unsaved(output)
	if !ok {
		return
	}
	r.update(func(res *result.Result) {
		res.State = &result.State{Saved: result.SavedLost, Serial: &state.serial, Lineage: state.lineage, Where: r.work.root}
	})
	r.save()
	r.log.Error("the state could not be saved: rescuing it", "serial", state.serial, "lineage", state.lineage)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.rescueTime())
	defer cancel()
	saved, where := r.saveSomewhere(ctx, state)
	r.update(func(res *result.Result) { res.State.Saved, res.State.Where = saved, where })
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

// rescueTime is how long the rescue may take: what is left of the stop budget, else the lock timeout.
func (r *run) rescueTime() time.Duration {
	if deadline := r.stop.Deadline(); !deadline.IsZero() {
		return max(time.Until(deadline)-resultReserve, resultReserve)
	}
	return max(r.opts.LockTimeout, minRescue)
}

// saveSomewhere tries the three places in turn.
func (r *run) saveSomewhere(ctx context.Context, state unsavedState) (result.Saved, string) {
	err := r.push(ctx, state)
	if err == nil {
		return result.SavedPushed, ""
	}
	r.log.Warn("rescue: pushing the state again", "error", err)
	if set, ok := r.keeper.(rescuer); ok {
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
	}
	return result.SavedLost, where
}

// rescuer stores rescue sets.
type rescuer interface {
	Rescue(ctx context.Context, state unsavedState) (where string, err error)
}

// errRefused marks a push that the backend refused because something newer is there.
var errRefused = errors.New("the backend has another or a newer state")

// refused are the messages of such a push. It is never repeated with -force.
var refused = regexp.MustCompile(`cannot (import|overwrite)|over (newer|unrelated|existing) state|HTTP error: 409|code 409|HTTP error: 4\d\d`)

// push repeats `state push`, under the lock and without -force, with exponential backoff.
func (r *run) push(ctx context.Context, state unsavedState) error {
	deadline, _ := ctx.Deadline()
	whole := time.Until(deadline)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(pushShare*float64(whole)))
	defer cancel()
	stop := runtime.NewStop(time.Duration(pressShare * float64(whole)))
	end := context.AfterFunc(ctx, func() { stop.Request(context.DeadlineExceeded) })
	defer end()
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(time.Second), backoff.WithMaxInterval(15*time.Second), backoff.WithMaxElapsedTime(0))
	return backoff.Retry(func() error { return r.pushOnce(ctx, stop, state) }, backoff.WithContext(policy, ctx))
}

func (r *run) pushOnce(ctx context.Context, stop *runtime.Stop, state unsavedState) error {
	deadline, _ := ctx.Deadline()
	args := runtime.Args{LockTimeout: max(time.Until(deadline)/2, 0)}.StatePush("-", false)
	// Not under ctx: the stop has the better ladder.
	exit, output, err := r.rt.WithStop(stop).RunInput(context.Background(), args, bytes.NewReader(state.bytes), runtime.Discard)
	r.record("state-push", exit, 1)
	switch {
	case err != nil:
		return err
	case exit.Code == 0:
		return nil
	}
	err = errors.New(result.Tail(r.redact.String(output.Tail())))
	if refused.MatchString(err.Error()) {
		return backoff.Permanent(fmt.Errorf("%w: %w", errRefused, err))
	}
	return err
}

// writeTo puts the state into a file of its own, durably. A file of that name is the same state.
func (s unsavedState) writeTo(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("rescued-%s-%d-%s.tfstate", s.lineage, s.serial, s.digest()[:8]))
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
	return path, syncDir(dir)
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// removeErrored removes the runtime's own copy once the state is back in the backend.
func (r *run) removeErrored() {
	if err := os.Remove(filepath.Join(r.work.root, erroredState)); err != nil && !os.IsNotExist(err) {
		r.log.Warn("the copy of a state that is saved now could not be removed", "error", err)
	}
}
