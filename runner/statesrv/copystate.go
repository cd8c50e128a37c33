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
	if done.Sent, err = c.bodies(ctx, h); err != nil {
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
	if c.opts.Tell != nil {
		c.opts.Tell(done)
	}
	return nil
}

// bodies copies the bytes of all versions that have any, and returns how many were
// not there yet.
func (c *copying) bodies(ctx context.Context, h *head) (sent int, err error) {
	for v, err := range c.from.backwards(ctx, h, 0) {
		if err != nil {
			return sent, err
		}
		if v.Pruned {
			break // and so are all before
		}
		missing := c.to.verify(ctx, h.State, v)
		if errors.Is(missing, store.ErrNotFound) {
			sent++
			if err := c.body(ctx, h.State, v); err != nil {
				return sent, err
			}
			missing = c.to.verify(ctx, h.State, v)
		}
		if missing != nil {
			return sent, fmt.Errorf("at the target: %w", missing)
		}
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
	for _, ev := range h.Events { // that a crash has kept from the log
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
