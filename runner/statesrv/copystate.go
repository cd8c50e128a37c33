package statesrv

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// state copies one state: what does not change first, the head last.
func (c *copying) state(ctx context.Context, name string) error {
	h, _, err := c.from.load(ctx, name)
	if err != nil {
		return err
	}
	_, rev, err := c.to.loadRecord(ctx, name)
	if err != nil {
		return err
	}
	done := CopiedState{Name: name, Versions: h.Last, Pruned: h.Pruned, Already: rev != ""}
	if err := c.bodies(ctx, h, &done); err != nil {
		return err
	}
	if err := c.pages(ctx, h); err != nil {
		return err
	}
	if done.Events, err = c.events(ctx, h); err != nil {
		return err
	}
	if !done.Already {
		if err := c.head(ctx, h); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copied[name] = h.ID
	if len(done.Damaged) > 0 {
		c.damaged = append(c.damaged, fmt.Sprintf("state %s: versions %v", name, done.Damaged))
	}
	if c.opts.Tell != nil {
		c.opts.Tell(done)
	}
	return nil
}

// bodies copies the bytes of all versions that have any. Only the current version
// has to be whole.
func (c *copying) bodies(ctx context.Context, h *head, done *CopiedState) error {
	for v, err := range c.from.backwards(ctx, h, 0) {
		if err != nil {
			return err
		}
		if v.Pruned {
			break // and so are all before
		}
		sent, err := c.version(ctx, h.State, v)
		switch {
		case errors.Is(err, errSource) && (h.Current == nil || v.Number != h.Current.Number):
			done.Damaged = append(done.Damaged, v.Number)
		case err != nil:
			return err
		case sent:
			done.Sent++
		}
	}
	return nil
}

// errSource says that bytes are damaged at the old place.
var errSource = errors.New("at the source")

// version copies the bytes of one version, unless they are there, and verifies them.
func (c *copying) version(ctx context.Context, name string, v Version) (sent bool, err error) {
	there := c.to.verify(ctx, name, v)
	if errors.Is(there, store.ErrNotFound) {
		if err := c.body(ctx, name, v); errors.Is(err, ErrDamaged) {
			return false, fmt.Errorf("%w: %w", errSource, err)
		} else if err != nil {
			return false, err
		}
		sent, there = true, c.to.verify(ctx, name, v)
	}
	if there != nil {
		return sent, fmt.Errorf("at the target: %w", there)
	}
	return sent, nil
}

func (c *copying) body(ctx context.Context, name string, v Version) error {
	data, err := c.from.bytesOf(ctx, name, v)
	if err != nil {
		return err
	}
	_, err = c.to.store.Create(ctx, bodyKey(name, v.Body), data)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrExists) {
		return nil // verify tells
	}
	return err
}

// verify reads the bytes of a version and compares their digest.
func (s *States) verify(ctx context.Context, name string, v Version) error {
	c, err := s.open(ctx, name, v)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c)
	return errors.Join(err, c.Close())
}

// pages copies the records with old entries, byte by byte.
func (c *copying) pages(ctx context.Context, h *head) error {
	for first := 1; first <= h.Last-len(h.Recent); first += pageSize {
		key := pageKey(h.State, first)
		rec, err := c.from.store.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("entries of versions: %w", err)
		}
		_, err = c.to.store.Create(ctx, key, rec.Data)
		if err != nil && !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrUnknown) {
			return err
		}
		got, err := c.to.store.Get(ctx, key)
		if err != nil {
			return err
		}
		if string(got.Data) != string(rec.Data) {
			return conflict("the target has other entries in %s: copy to an empty place", key)
		}
	}
	return nil
}

// events adds those that the target has not, in their order, and returns how many
// the source has.
func (c *copying) events(ctx context.Context, h *head) (int, error) {
	known, err := c.to.loggedSince(ctx, h.State, "")
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	add := func(ev Event) error {
		if seen[ev.ID] {
			return nil
		}
		seen[ev.ID] = true
		if known[ev.ID] {
			return nil
		}
		return c.to.appendEvent(ctx, h.State, ev)
	}
	for line, err := range c.from.log.Lines(ctx, eventsKey(h.State), "") {
		if err != nil {
			return 0, err
		}
		if ev, ok := parseEvent(line.Data); ok {
			if err := add(ev); err != nil {
				return 0, err
			}
		}
	}
	for ev := range h.Events.values() { // that a crash has kept from the log
		if err := add(ev); err != nil {
			return 0, err
		}
	}
	return len(seen), c.to.log.Sync(ctx, eventsKey(h.State))
}

// head makes the state appear at the target, with all of its events in the log.
func (c *copying) head(ctx context.Context, h *head) error {
	next := &head{
		State: h.State, Lock: h.Lock, Current: h.Current, Deleted: h.Deleted, Last: h.Last,
		Pruned: h.Pruned, Removed: h.Pruned, Recent: h.Recent,
	}
	last, err := c.to.log.Last(ctx, eventsKey(h.State), 1)
	if err != nil {
		return err
	}
	for _, line := range last {
		next.Logged = line.After
	}
	if err := c.to.save(ctx, h.State, next, "", nil); err != nil {
		return err
	}
	return c.to.mirror(ctx, h.State)
}
