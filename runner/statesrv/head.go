package statesrv

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// head is the record that decides: the lock and the pointer to the current
// version are one value, so that one swap fences both.
type head struct {
	// ID is fresh for each write of the record.
	ID string `json:"id"`
	// State is the state's name, for people.
	State string `json:"state"`
	// Lock is nil when the state is free.
	Lock *Lock `json:"lock"`
	// Current is nil when there is no state: never written, or deleted.
	Current *Version `json:"current"`
	Deleted bool     `json:"deleted,omitempty"`
	// Last is the number of the newest version; no number is used twice.
	Last int `json:"last"`
	// Pruned is the number up to which the versions have lost their bytes, or are
	// about to; Removed is up to which that is done.
	Pruned  int `json:"pruned,omitempty"`
	Removed int `json:"removed,omitempty"`
	// Recent are the entries that are in no page yet, oldest first.
	Recent series[Version] `json:"recent,omitempty"`
	// Events are those of the last changes, until the log has them for certain.
	Events series[Event] `json:"events,omitempty"`
	// Logged is a place in the log with all of Events behind it.
	Logged store.Cursor `json:"logged,omitempty"`
	// Writes are the IDs of the last writes, newest first: whoever lost the answer
	// of a swap finds out here that it was done.
	Writes []string `json:"writes"`
}

const (
	pageSize  = 32 // entries that leave the head together
	ringSize  = 16 // events that the head keeps at most
	keptIDs   = 8
	swapTries = 64 // each failed one means that another writer got ahead
)

// load returns the head, or an empty one and no revision if there is none. A state
// that has versions but no head is damaged: taken for a new one, it would be made
// a second time. And if the whole store is gone, no state is known to be absent.
func (s *States) load(ctx context.Context, name string) (*head, store.Revision, error) {
	h, rev, err := s.loadRecord(ctx, name)
	if err != nil || rev != "" {
		return h, rev, err
	}
	left, err := s.headless(ctx, name)
	if err == nil && left == "" {
		err = s.present(ctx)
	}
	if err != nil || left == "" {
		return h, "", err
	}
	// Unless another writer has made the head and that file meanwhile.
	if h, rev, err = s.loadRecord(ctx, name); err != nil || rev != "" {
		return h, rev, err
	}
	return nil, "", damaged("state %s: its head record is missing, but there is %s: %s; or, if a copy was interrupted, copy again",
		name, left, headAgain)
}

const headAgain = "put head.json back from a backup; or move the state's records away and push the newest of its versions"

// sound returns an error if h, which has no version yet, was made in a store that is gone.
// A store may be emptied record by record, and meanwhile a lock may be granted in it: that
// head must not show that there never was a state.
func (s *States) sound(ctx context.Context, h *head) error {
	if h.ID == "" || h.Last > 0 { // load has asked already, or there is nothing to ask
		return nil
	}
	return s.present(ctx)
}

// present returns nil if the store is still where it was opened.
func (s *States) present(ctx context.Context) error {
	if p, ok := s.store.(store.Placed); ok {
		return p.Present(ctx)
	}
	return nil
}

// loadRecord is load for whoever knows what a missing head means.
func (s *States) loadRecord(ctx context.Context, name string) (*head, store.Revision, error) {
	rec, err := s.store.Get(ctx, headKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return &head{State: name}, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	if h, ok := s.heads.get(name, rec.Revision); ok {
		return h, rec.Revision, nil
	}
	var h head
	if err := json.Unmarshal(rec.Data, &h); err != nil {
		return nil, "", damaged("state %s: its head record is damaged: %w: %s", name, err, headAgain)
	}
	h.State = name // also when a person has copied the record from another state
	return &h, rec.Revision, nil
}

// change applies decide to the state's head and stores the result. decide sees
// the head as it is, changes it, and reports whether it did; it is called again
// if another writer gets ahead. The event goes with the change, or tells of the
// refusal that decide returned.
func (s *States) change(ctx context.Context, name string, ev *Event, decide func(*head) (bool, error)) (*head, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	unlock, err := s.names.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	h, changed, err := s.swapLoop(ctx, name, ev, decide)
	if r := refusalOf(err); r != nil {
		s.recordRefusal(ctx, name, ev, r)
	}
	if err != nil {
		return nil, err
	}
	if changed {
		s.afterChange(ctx, name, ev)
	}
	return h, nil
}

func (s *States) swapLoop(ctx context.Context, name string, ev *Event, decide func(*head) (bool, error)) (*head, bool, error) {
	for range swapTries {
		h, rev, err := s.load(ctx, name)
		if err != nil {
			return nil, false, err
		}
		changed, err := decide(h)
		if err != nil || !changed {
			return h, false, err
		}
		err = s.save(ctx, name, h, rev, ev)
		if err == nil {
			return h, true, nil
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists) {
			return nil, false, fmt.Errorf("state %s: %w", name, err)
		}
	}
	return nil, false, fmt.Errorf("state %s: %d other writers got ahead: %w", name, swapTries, store.ErrConflict)
}

// save stores h in place of revision rev, which is "" for none. ev may be nil.
func (s *States) save(ctx context.Context, name string, h *head, rev store.Revision, ev *Event) error {
	if err := s.flushEvents(ctx, name, h); err != nil {
		return err
	}
	h.ID = rand.Text()
	h.Writes = append([]string{h.ID}, h.Writes[:min(len(h.Writes), keptIDs-1)]...)
	var err error
	if ev != nil {
		if h.Events, err = h.Events.with(*ev); err != nil {
			return err
		}
	}
	data, err := h.encode()
	if err != nil {
		return err
	}
	if rev == "" {
		rev, err = s.createHead(ctx, name, h, data)
	} else {
		rev, err = s.store.Swap(ctx, headKey(name), rev, data)
	}
	if err == nil {
		s.heads.put(name, rev, h)
	}
	for _, open := range []error{store.ErrUnknown, store.ErrConflict, store.ErrExists} {
		if errors.Is(err, open) {
			return s.resolve(ctx, name, h.ID, err)
		}
	}
	return err
}

// encode returns the record: the JSON of h, and the series in its end.
func (h *head) encode() ([]byte, error) {
	rest := *h
	rest.Recent, rest.Events = nil, nil
	data, err := encode(rest)
	if err != nil {
		return nil, err
	}
	data = append(data[:len(data)-1], `,"recent":`...)
	if data, err = h.Recent.appendTo(data); err != nil {
		return nil, err
	}
	data = append(data, `,"events":`...)
	if data, err = h.Events.appendTo(data); err != nil {
		return nil, err
	}
	return append(data, '}'), nil
}

// createHead stores the first head of a state. A lock is only granted if it can be released on a full disk.
func (s *States) createHead(ctx context.Context, name string, h *head, data []byte) (store.Revision, error) {
	if h.Lock != nil {
		if err := store.Reserve(ctx, s.store, headKey(name), data); err != nil {
			return "", err
		}
	}
	return s.store.Create(ctx, headKey(name), data)
}

// resolve finds out whether the write with that ID was done although the answer
// was lost, or says that another writer won: that one may have built upon it.
func (s *States) resolve(ctx context.Context, name, id string, answer error) error {
	now, _, err := s.load(ctx, name)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %v, and then: %w", store.ErrUnknown, answer, err)
	case slices.Contains(now.Writes, id):
		return nil
	}
	return answer
}
