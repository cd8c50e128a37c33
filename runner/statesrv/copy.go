package statesrv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// CopyOptions change what Copy does. The zero value is for use.
type CopyOptions struct {
	// Locked copies states that are locked too, with their locks: the holder may go on
	// at the new place. Otherwise they are a Refusal.
	Locked bool
	// Tell is told of each state when it is done, one at a time; nil means nobody.
	Tell func(CopiedState)
}

// CopiedState is one state that Copy has brought over.
type CopiedState struct {
	Name string `json:"name"`
	// Versions are all, Pruned those of them that have no bytes, and Sent those whose
	// bytes were not there yet.
	Versions int `json:"versions"`
	Pruned   int `json:"pruned"`
	Sent     int `json:"sent"`
	Events   int `json:"events"`
	// Already: the state was there whole, and was only verified.
	Already bool `json:"already,omitempty"`
}

// copiers is how many states are copied at once.
const copiers = 8

// Copy brings every state of one store to another: versions with their numbers,
// serials and bytes, events, and the current version. Each version's bytes are read
// back and compared by their digest. A state appears at the new place only when all
// of it is there, so a Copy that was interrupted can be repeated, and sends only
// what is missing.
//
// It is a Refusal (409) if the new place has anything that the old one has not, or
// if a state is locked. Nothing is changed then, and never at the old place. It is
// one as well if a state was written while it was copied: stop the servers before.
func Copy(ctx context.Context, from, to *States, opts CopyOptions) error {
	c := &copying{from: from, to: to, opts: opts}
	names, err := c.check(ctx)
	if err != nil {
		return err
	}
	if err := c.all(ctx, names); err != nil {
		return err
	}
	return c.unchanged(ctx)
}

// copying is one run of Copy.
type copying struct {
	from, to *States
	opts     CopyOptions

	mu     sync.Mutex
	copied map[string]string // by name, the ID of the head that was copied
}

// check compares the two places before anything is written, and returns the names
// of the states.
func (c *copying) check(ctx context.Context) ([]string, error) {
	here, err := c.from.allHeads(ctx)
	if err != nil {
		return nil, err
	}
	there, err := c.to.allHeads(ctx)
	if err != nil {
		return nil, err
	}
	var names, locked []string
	for name, h := range here {
		names = append(names, name)
		if h.Lock != nil {
			locked = append(locked, fmt.Sprintf("%s (%s)", name, h.Lock))
		}
	}
	slices.Sort(names)
	slices.Sort(locked)
	if len(locked) > 0 && !c.opts.Locked {
		return nil, conflict("%d states are locked: let their holders finish, or copy the locks too: %s", len(locked), strings.Join(locked, ", "))
	}
	for name, h := range there {
		if err := sameState(here[name], h); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// allHeads returns the heads of all states that have one.
func (s *States) allHeads(ctx context.Context) (map[string]*head, error) {
	heads := map[string]*head{}
	for dir, err := range s.store.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		name, ok := nameOf(dir)
		if !ok {
			continue
		}
		h, rev, err := s.load(ctx, name)
		if err != nil {
			return nil, err
		}
		if rev != "" {
			heads[name] = h
		}
	}
	return heads, nil
}

// sameState returns nil if two heads say the same of a state; source may be nil.
func sameState(source, target *head) error {
	if source == nil {
		return conflict("the target has a state %s that the source has not: copy to an empty place", target.State)
	}
	a, errA := source.content()
	b, errB := target.content()
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if a != b {
		return conflict("the target has another state %s: %d versions there, %d here: copy to an empty place", target.State, target.Last, source.Last)
	}
	return nil
}

// content is all that a head says of its state, without what belongs to one store.
func (h *head) content() (string, error) {
	kept := head{Lock: h.Lock, Current: h.Current, Deleted: h.Deleted, Last: h.Last, Pruned: h.Pruned, Recent: append([]Version(nil), h.Recent...)}
	text, err := encode(kept)
	return string(text), err
}

// all copies the states, a few at once, and returns the first error.
func (c *copying) all(ctx context.Context, names []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.copied = map[string]string{}
	todo := make(chan string)
	var group sync.WaitGroup
	for range copiers {
		group.Go(func() {
			for name := range todo {
				if err := c.state(ctx, name); err != nil {
					cancel(fmt.Errorf("copy state %s: %w", name, err))
				}
			}
		})
	}
	for _, name := range names {
		select {
		case todo <- name:
		case <-ctx.Done():
		}
	}
	close(todo)
	group.Wait()
	return context.Cause(ctx)
}

func (c *copying) state(ctx context.Context, name string) error {
	h, _, err := c.from.load(ctx, name)
	if err != nil {
		return err
	}
	_, rev, err := c.to.load(ctx, name)
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

// unchanged looks whether somebody wrote at the old place meanwhile.
func (c *copying) unchanged(ctx context.Context) error {
	now, err := c.from.allHeads(ctx)
	if err != nil {
		return err
	}
	var changed []string
	for name, h := range now {
		if c.copied[name] != h.ID {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		return conflict("states were written while they were copied: %s; stop every server of the source, empty the target and copy again",
			strings.Join(changed, ", "))
	}
	return nil
}
