package runner

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

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
	pushShare  = 0.5
	setShare   = 0.7
	againShare = 0.8 // of another round, of which the push and the set get their shares
	setTime    = time.Minute
	// minPush is what the push gets however short the lock timeout is.
	minPush = 30 * time.Second
	// pressShare of the stop budget ends a push that hangs, maxPress at most.
	pressShare = 0.15
	maxPress   = 10 * time.Second
)

// rescue brings a state that a step could not save to safety (spec/runner.md, "A state that could not be
// saved"): into the backend, else into Secrets, else into the rescue directory. It returns a state that is safe now.
func (r *run) rescue(ctx context.Context, f *failure, output *runtime.Output) (safe []byte) {
	state, ok, err := r.unsaved(output)
	if err != nil {
		r.noteUnread(f, output, err)
		return nil
	}
	if !ok {
		if f.unsaved { // a full disk cut the file short, and the runtime printed nothing
			r.noteLost(result.State{}, output)
		}
		return nil
	}
	known := r.report.Unsaved
	r.noteLost(result.State{Serial: &state.serial, Lineage: state.lineage}, output) // until it is safe
	r.report.save()
	r.log.Error("the state could not be saved: rescuing it", "serial", state.serial, "lineage", state.lineage)
	saved, where := r.saveSomewhere(ctx, state)
	r.report.update(func(res *result.Result) {
		res.State.Saved, res.State.Where = saved, where
		if saved != result.SavedLost {
			res.Unsaved = known
		}
	})
	r.log.Warn("the state that could not be saved", "outcome", string(saved), "where", where)
	f.err = fmt.Errorf("%w; %s", f.err, r.whereabouts(saved, where))
	if saved == result.SavedRescued && result.TooLarge(output.Tail()) {
		f.err = fmt.Errorf("%w once it is smaller: a Secret has no room for it", f.err)
	}
	if saved == result.SavedPushed {
		r.removeErrored()
	}
	if saved == result.SavedLost {
		return nil
	}
	return state.bytes
}

// noteLost has the result say that a state is nowhere, and with it what the step has changed.
func (r *run) noteLost(state result.State, output *runtime.Output) {
	state.Saved = result.SavedLost
	r.report.update(func(res *result.Result) { res.State = &state })
	r.report.setUnsaved(listUnsaved(output.Changes, len(output.Changes)))
}

// noteUnread is for a state that the runtime left, and that cannot be read now: it stays where it is.
func (r *run) noteUnread(f *failure, output *runtime.Output, err error) {
	where := filepath.Join(r.work.root, erroredState)
	r.log.Error("the state that the runtime could not save cannot be read", "error", err)
	r.noteLost(result.State{Where: where}, output)
	f.err = fmt.Errorf("%w; the state of this run cannot be read: %w: %s", f.err, err,
		r.opts.wayOut("get it out of this pod and restore it, or run again in the same working directory", "the next run saves it before anything else"))
}

// whereabouts tells where a state is that the runtime could not save, and what to do with it.
func (r *run) whereabouts(saved result.Saved, where string) string {
	const saves = "the next run saves it before anything else"
	is := "the state of this run is in " + where
	switch {
	case saved == result.SavedPushed:
		return "the state was saved after all: run again"
	case where == "":
		return "the state of this run is lost: import what the result lists as unsaved"
	case r.opts.Local && (r.opts.ownResult || filepath.Dir(where) == r.work.dir):
		return is + ": " + saves
	case r.opts.Local:
		return is + ": move it into " + r.work.dir + ", and " + saves
	case saved == result.SavedLost:
		return is + ", which goes with this pod: get it out and restore it, or run again in the same working directory"
	}
	return is + ": restore it"
}

// unsaved finds the state: printed, or in the file that the runtime left. A file that a full disk cut short is
// none.
func (r *run) unsaved(output *runtime.Output) (state unsavedState, ok bool, err error) {
	data := output.State
	if data == nil {
		if data, err = os.ReadFile(filepath.Join(r.work.root, erroredState)); err != nil && !isAbsent(err) {
			return state, false, err
		}
	}
	state, ok = newUnsavedState(data)
	return state, ok, nil
}

// newUnsavedState reads a state. One that no backend ever had has no lineage, and the runtimes would push it over
// whatever is there: it gets a lineage, so that it only goes where there is none. An encrypted one stays as it is. What
// has no version is no state.
func newUnsavedState(data []byte) (unsavedState, bool) {
	state := unsavedState{bytes: data}
	var fields map[string]json.RawMessage
	if len(data) == 0 || json.Unmarshal(data, &fields) != nil {
		return state, false
	}
	_ = json.Unmarshal(fields["serial"], &state.serial)
	_ = json.Unmarshal(fields["lineage"], &state.lineage)
	_, encrypted := fields["encrypted_data"]
	if fields["version"] == nil && !encrypted {
		return state, false
	}
	if state.lineage != "" || encrypted {
		return state, true
	}
	state.lineage = newLineage()
	fields["lineage"], _ = json.Marshal(state.lineage)
	if bytes, err := json.Marshal(fields); err == nil {
		state.bytes = bytes
	}
	return state, true
}

// newLineage is a random UUID, as the runtimes use it.
func newLineage() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// saveSomewhere tries the places in turn. What none takes is kept in the working directory, which goes with its pod: as
// long as only a right is missing, which may be given back, the places are tried again.
func (r *run) saveSomewhere(ctx context.Context, state unsavedState) (result.Saved, string) {
	saved, where, err := r.tryPlaces(ctx, state)
	if saved != result.SavedLost {
		return saved, where
	}
	kept := r.keepSomewhere(state)
	again, cancel := r.within(ctx, max(r.opts.LockTimeout, minPush), againShare)
	defer cancel()
	pauses := pausesFrom(2*time.Second, 15*time.Second)
	for errors.Is(err, errForbidden) && sleepWithin(again, pauses.NextBackOff()) {
		if saved, where, err = r.tryPlaces(ctx, state); saved != result.SavedLost {
			_ = os.Remove(kept)
			return saved, where
		}
	}
	if r.opts.Local && kept != "" && filepath.Dir(kept) != r.work.dir {
		return result.SavedRescueDir, kept
	}
	return result.SavedLost, kept
}

// tryPlaces tries each place that outlives the pod once. When none takes the state, it returns the error of the push.
func (r *run) tryPlaces(ctx context.Context, state unsavedState) (result.Saved, string, error) {
	pushErr := r.push(ctx, state)
	if pushErr == nil {
		return result.SavedPushed, "", nil
	}
	r.log.Warn("rescue: pushing the state again", "error", pushErr)
	if r.cluster != nil {
		ctx, cancel := r.within(ctx, setTime, setShare)
		defer cancel()
		where, err := r.cluster.rescue(ctx, state)
		if err == nil {
			return result.SavedRescued, where, nil
		}
		r.log.Warn("rescue: storing it in Secrets", "error", err)
	}
	if r.opts.RescueDir != "" {
		where, err := state.writeTo(r.opts.RescueDir)
		if err == nil {
			return result.SavedRescueDir, where, nil
		}
		r.log.Warn("rescue: writing it to --rescue-dir", "error", err)
	}
	return result.SavedLost, "", pushErr
}

// keepSomewhere leaves the state where the next run in this working directory finds it, or else wherever there is
// room for it, and says so in the result.
func (r *run) keepSomewhere(state unsavedState) (where string) {
	workdir := func() (string, error) { return r.work.dir, nil }
	for _, folder := range []func() (string, error){workdir, homeFolder, temporaryFolder} {
		dir, err := folder()
		if err == nil {
			where, err = state.writeTo(dir)
		}
		if err != nil {
			r.log.Warn("rescue: keeping the state in a folder of this machine", "error", err)
			continue
		}
		r.removeErrored() // two copies would be pushed one after the other
		r.report.update(func(res *result.Result) { res.State.Where = where })
		r.report.save()
		return where
	}
	r.log.Error("rescue: the state is lost")
	return ""
}

// homeFolder and temporaryFolder are made for a state when the disk of the working directory is full: often they are on
// another one.
func homeFolder() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, ".captf-rescue")
	return dir, os.MkdirAll(dir, 0o700)
}

func temporaryFolder() (string, error) {
	return os.MkdirTemp("", "captf-rescue-") // a name that nobody else can have taken
}

// writeTo puts the state into a file of its own, durably, whole or not at all. A file of that name is the same state: it
// stays until the new one is written.
func (s unsavedState) writeTo(dir string) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf(rescuedPrefix+"%s-%d-%s"+keptSuffix, s.lineage, s.serial, s.digest()[:8]))
	file, err := os.CreateTemp(dir, ".rescue-*")
	if err != nil {
		return "", err
	}
	_, err = file.Write(s.bytes)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
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
