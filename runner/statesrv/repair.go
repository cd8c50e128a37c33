package statesrv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Finding is something that Repair found in the store.
type Finding struct {
	State string `json:"state,omitempty"`
	// Damage is true for what cannot be repaired: a person has to.
	Damage bool `json:"damage,omitempty"`
	// Kept is true for bytes that the head does not know and that were kept aside.
	Kept bool `json:"kept,omitempty"`
	// Text says what was found and what was done about it.
	Text string `json:"text"`
}

// Repair looks at every state after a crash: it removes unfinished writes, keeps aside what else the head does not
// know, adds events that the log has missed, and makes the files for people say what the records say. Call it before
// the first request. It returns what it did; with another process at work on the same store it does nothing, and says
// so.
//
// No record that decides is changed, so a Repair that is interrupted, or never
// made, costs nothing but leftovers.
func (s *States) Repair(ctx context.Context) ([]Finding, error) {
	sole, ok := s.store.(store.Sole)
	if !ok {
		return nil, nil
	}
	r := &repair{States: s, sole: sole}
	ran, err := sole.Alone(ctx, func() error { return r.all(ctx) })
	if err == nil && !ran {
		r.found("", "another process uses the store: not checked for leftovers of a crash")
	}
	return r.findings, err
}

// repair is one run of Repair.
type repair struct {
	*States
	sole     store.Sole
	findings []Finding
}

func (r *repair) found(state, format string, args ...any) {
	r.findings = append(r.findings, Finding{State: state, Text: fmt.Sprintf(format, args...)})
}

func (r *repair) damaged(state string, err error) {
	r.findings = append(r.findings, Finding{State: state, Damage: true, Text: err.Error()})
}

func (r *repair) all(ctx context.Context) error {
	for dir, err := range r.store.List(ctx, "") {
		if err != nil {
			return err
		}
		name, ok := nameOf(dir)
		if !ok {
			continue
		}
		err := r.state(ctx, name)
		switch {
		case errors.Is(err, fs.ErrPermission): // that of one state, which does not keep the others
			r.damaged(name, fmt.Errorf("not checked: %w", err))
		case err != nil:
			return fmt.Errorf("repair state %s: %w", name, err)
		}
	}
	return r.proofs(ctx)
}

// proofs removes what is left of proofs of the store that were cut off.
func (r *repair) proofs(ctx context.Context) error {
	for name, err := range r.store.List(ctx, store.ProofDir) {
		if err == nil {
			err = r.store.Remove(ctx, store.ProofDir+"/"+name)
		}
		if err != nil {
			return err
		}
	}
	_, err := r.sole.Sweep(ctx, store.ProofDir)
	return err
}

func (r *repair) state(ctx context.Context, name string) error {
	h, _, err := r.load(ctx, name)
	if looseFile(err) {
		return nil
	}
	if err != nil {
		r.damaged(name, err)
		return ctx.Err()
	}
	removed, err := r.sole.Sweep(ctx, dirOf(name))
	for _, file := range removed {
		r.found(name, "removed %s, a write that was not finished", file)
	}
	if err != nil {
		return err
	}
	if err := r.bodies(ctx, name, h); err != nil {
		return err
	}
	if err := r.events(ctx, name, h); err != nil {
		return err
	}
	if !r.current(ctx, name, h) {
		return ctx.Err() // state.tfstate may be the only copy of what a person did
	}
	return r.files(ctx, name, h)
}

// current reads the current bytes and reports whether they are as they were
// written: they have a second name, by which a person may have changed them.
func (r *repair) current(ctx context.Context, name string, h *head) (intact bool) {
	if h.Current == nil {
		return true
	}
	c, err := r.openCurrent(ctx, name, *h.Current)
	if err == nil {
		_, err = io.Copy(io.Discard, c)
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		r.damaged(name, err)
	}
	return err == nil
}

func (r *repair) events(ctx context.Context, name string, h *head) error {
	if r.plain != nil {
		err := r.plain.Files(ctx, dirOf(name), func(f store.Files) error { return r.cutTornEvent(name, f) })
		if err != nil {
			return err
		}
	}
	added, err := r.healLog(ctx, name, h, r.now().Add(time.Hour))
	if added > 0 {
		r.found(name, "added %d events that a crash kept from %s", added, eventsFile)
	}
	return err
}

func (r *repair) cutTornEvent(name string, f store.Files) error {
	end, err := f.Tail(eventsFile, maxLockBody)
	if err != nil {
		return err
	}
	torn := end[bytes.LastIndexByte(end, '\n')+1:]
	if len(torn) == 0 {
		return nil
	}
	if err := f.Extend(eventsFile, string(torn), nil); err != nil {
		return err
	}
	r.found(name, "cut the last line of %s, %d bytes that a crash left unfinished", eventsFile, len(torn))
	return nil
}

// files makes the files for people right, and keeps aside a state that a person
// has changed by hand: the record decides, but their work is not lost.
func (r *repair) files(ctx context.Context, name string, h *head) error {
	if r.plain == nil || h.ID == "" {
		return nil
	}
	said := h.Last // by versions.json
	err := r.plain.Files(ctx, dirOf(name), func(f store.Files) error {
		changed, err := mirrorLock(f, h)
		if changed && err == nil {
			r.found(name, "%s did not say what the record says: put right", lockFile)
		}
		last, errState := r.stateFile(ctx, name, f, h)
		said = last
		return errors.Join(err, errState)
	})
	if err != nil {
		return err
	}
	switch err := r.mirror(ctx, name); {
	case err != nil:
		r.damaged(name, err)
	case said != h.Last && h.Current != nil:
		r.found(name, "%s and %s said version %d, now %d", stateFile, versionsFile, said, h.Last)
	}
	return ctx.Err()
}

// stateFile returns the version up to which the files for people are right. If that is not
// the last one, mirror has to write them.
func (r *repair) stateFile(ctx context.Context, name string, f store.Files, h *head) (last int, err error) {
	last, err = mirrored(f)
	if err == nil && last > h.Last {
		err = r.keepNewer(name, f, h, last)
	}
	if err != nil || h.Current == nil || last != h.Last {
		return last, err
	}
	digest, size, err := r.digestOfState(ctx, name)
	if err != nil || digest == h.Current.Digest {
		return last, err
	}
	if size > 0 {
		aside := "state.tfstate.edited-" + r.now().Format("20060102T150405Z")
		if err := f.Rename(stateFile, aside); err != nil {
			return last, err
		}
		r.found(name, "%s was not version %d: kept as %s; to make it a version, push it", stateFile, h.Last, aside)
	}
	if err := linkState(f, h); err != nil {
		r.damaged(name, err)
	} else if size == 0 {
		r.found(name, "%s was missing or empty: written again from version %d", stateFile, h.Last)
	}
	return last, nil
}

func (r *repair) digestOfState(ctx context.Context, name string) (string, int64, error) {
	body, err := store.Open(ctx, r.store, dirOf(name)+"/"+stateFile)
	if errors.Is(err, store.ErrNotFound) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return "", 0, err
	}
	return digestText(sum.Sum(nil)), body.Size, nil
}
