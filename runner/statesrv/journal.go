package statesrv

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Events of changes travel in the head record, so that a change is never stored
// without its event; the log gets them right afterwards. An event leaves the head
// only when the log has it durably. Refusals change nothing and go to the log.

// settledTime is after how long an event that the log does not have is not just
// late: whoever changed the head is gone.
const settledTime = 2 * time.Second

// EventPage is a part of a state's events, oldest first.
type EventPage struct {
	Events []Event `json:"events"`
	// Next goes on behind the last event; also when there is none yet.
	Next string `json:"next"`
	// Unreadable is how many lines of the log among them are no events: a crash or a
	// person has left them.
	Unreadable int `json:"unreadable,omitempty"`
}

// add takes a line of the log. seen has the IDs of the events in the page.
func (p *EventPage) add(line store.Line, seen map[string]bool) {
	p.Next = string(line.After)
	ev, ok := parseEvent(line.Data)
	switch {
	case !ok:
		p.Unreadable++
	case !seen[ev.ID]:
		seen[ev.ID] = true
		p.Events = append(p.Events, ev)
	}
}

// Events returns at most limit events behind the cursor after, "" being the
// beginning, oldest first.
func (s *States) Events(ctx context.Context, name, after string, limit int) (EventPage, error) {
	page := EventPage{Events: []Event{}, Next: after}
	if err := s.readyLog(ctx, name); err != nil {
		return page, err
	}
	seen := map[string]bool{}
	for line, err := range s.log.Lines(ctx, eventsKey(name), store.Cursor(after)) {
		if errors.Is(err, store.ErrCursor) {
			return page, badRequest(err.Error())
		}
		if err != nil {
			return page, err
		}
		page.add(line, seen)
		if len(page.Events) >= limit {
			break
		}
	}
	return page, nil
}

// LastEvents returns at most the last n events, oldest first, and the cursor that
// goes on behind them.
func (s *States) LastEvents(ctx context.Context, name string, n int) (EventPage, error) {
	page := EventPage{Events: []Event{}}
	if err := s.readyLog(ctx, name); err != nil {
		return page, err
	}
	lines, err := s.log.Last(ctx, eventsKey(name), n)
	if err != nil {
		return page, err
	}
	seen := map[string]bool{}
	for _, line := range lines {
		page.add(line, seen)
	}
	return page, nil
}

// readyLog adds to the log what a crashed process could not.
func (s *States) readyLog(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	h, _, err := s.load(ctx, name)
	if err != nil {
		return err
	}
	_, err = s.healLog(ctx, name, h, s.now().Add(-settledTime))
	return err
}

func parseEvent(line []byte) (Event, bool) {
	var ev Event
	err := json.Unmarshal(line, &ev) // a line that a crash cut short is none
	return ev, err == nil && ev.ID != ""
}

func (s *States) appendEvent(ctx context.Context, name string, ev Event) error {
	line, err := encode(ev)
	if err != nil {
		return err
	}
	return s.log.Append(ctx, eventsKey(name), line)
}

func (s *States) recordRefusal(ctx context.Context, name string, ev *Event, r *Refusal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	ev.refuse(r)
	s.rules.Observe(name, *ev)
	s.rules.Log.Info("refused", "state", name, "action", string(ev.Action), "status", r.Status,
		"reason", r.Message, "user", ev.By.User, "addr", ev.By.Addr)
	if err := s.appendEvent(ctx, name, *ev); err != nil {
		s.rules.Log.Warn("refusal not logged", "state", name, "error", err)
	}
}

// healLog adds the head's events that are older than before and not in the log,
// and returns how many.
func (s *States) healLog(ctx context.Context, name string, h *head, before time.Time) (int, error) {
	if id, ok := s.healed.Load(name); ok && id == h.ID || len(h.Events) == 0 {
		return 0, nil
	}
	known, err := s.loggedSince(ctx, name, h.Logged)
	if err != nil {
		return 0, err
	}
	added, all := 0, true
	for ev := range h.Events.values() {
		switch {
		case known[ev.ID]:
		case !ev.Time.Before(before):
			all = false
		default:
			if err := s.appendEvent(ctx, name, ev); err != nil {
				return added, err
			}
			added++
		}
	}
	if all {
		s.healed.Store(name, h.ID)
	}
	return added, nil
}

func (s *States) loggedSince(ctx context.Context, name string, after store.Cursor) (map[string]bool, error) {
	ids := map[string]bool{}
	for line, err := range s.log.Lines(ctx, eventsKey(name), after) {
		if err != nil {
			return nil, err
		}
		if ev, ok := parseEvent(line.Data); ok {
			ids[ev.ID] = true
		}
	}
	return ids, nil
}

// flushEvents empties a full ring, once the log has its events durably.
func (s *States) flushEvents(ctx context.Context, name string, h *head) error {
	if len(h.Events) < ringSize {
		return nil
	}
	if _, err := s.healLog(ctx, name, h, s.now().Add(time.Hour)); err != nil {
		return err
	}
	if err := s.log.Sync(ctx, eventsKey(name)); err != nil {
		return err
	}
	last, err := s.log.Last(ctx, eventsKey(name), 1)
	if err != nil {
		return err
	}
	for _, line := range last {
		h.Logged = line.After
	}
	h.Events = nil
	return nil
}
