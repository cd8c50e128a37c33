package statesrv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/captf/captf-runner/internal/plural"
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
	// Damaged are the versions whose bytes are damaged or missing at the old place, so
	// that they are missing at the new one.
	Damaged []int `json:"damaged,omitempty"`
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
//
// Damaged bytes of a current version end the Copy. Those of older ones do not: all
// else is copied, and the error, which wraps ErrDamaged, names them.
func Copy(ctx context.Context, from, to *States, opts CopyOptions) error {
	c := &copying{from: from, to: to, opts: opts}
	names, err := c.check(ctx)
	if err != nil {
		return err
	}
	if err := c.all(ctx, names); err != nil {
		return err
	}
	if err := c.unchanged(ctx); err != nil {
		return err
	}
	if len(c.damaged) > 0 {
		slices.Sort(c.damaged)
		return damaged("all is copied but what is damaged at the source: %s", strings.Join(c.damaged, "; "))
	}
	return nil
}

// copying is one run of Copy.
type copying struct {
	from, to *States
	opts     CopyOptions

	mu      sync.Mutex
	copied  map[string]string // by name, the ID of the head that was copied
	damaged []string          // of each state that has any, its damaged versions
}

// check compares the two places before anything is written, and returns the names
// of the states.
func (c *copying) check(ctx context.Context) ([]string, error) {
	here, err := c.from.allHeads(ctx, c.from.load)
	if err != nil {
		return nil, err
	}
	there, err := c.to.allHeads(ctx, c.to.loadRecord) // an interrupted copy has left versions without a head
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
		return nil, conflict("%d locked %s: let their holders finish, or copy the locks too (--with-locks): %s",
			len(locked), plural.Of("state", len(locked)), strings.Join(locked, ", "))
	}
	for name, h := range there {
		if err := sameState(here[name], h); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// allHeads returns the heads of all states that have one.
func (s *States) allHeads(ctx context.Context, load func(context.Context, string) (*head, store.Revision, error)) (map[string]*head, error) {
	heads := map[string]*head{}
	for dir, err := range s.store.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		name, ok := nameOf(dir)
		if !ok {
			continue
		}
		h, rev, err := load(ctx, name)
		if looseFile(err) {
			continue
		}
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
		return conflict("the target has another state %s: %s: copy to an empty place", target.State, differing(source, target))
	}
	return nil
}

// differing says in what two heads of one state differ, after content was asked of both.
func differing(source, target *head) string {
	switch {
	case source.Last != target.Last:
		return fmt.Sprintf("%d versions there, %d here", target.Last, source.Last)
	case !source.Recent.encodedAs(target.Recent):
		return fmt.Sprintf("%d versions at both places, but not the same ones", source.Last)
	case source.Lock != nil || target.Lock != nil:
		return fmt.Sprintf("the same %d versions, but its lock there is %s, and here %s", source.Last, orNone(target.Lock), orNone(source.Lock))
	}
	return fmt.Sprintf("the same %d versions, but deleted or pruned at one place and not at the other", source.Last)
}

func orNone(l *Lock) string {
	if l == nil {
		return "none"
	}
	return l.String()
}

// content is all that a head says of its state, without what belongs to one store.
func (h *head) content() (string, error) {
	kept := head{Lock: h.Lock, Current: h.Current, Deleted: h.Deleted, Last: h.Last, Pruned: h.Pruned, Recent: h.Recent}
	text, err := kept.encode()
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

// unchanged looks whether somebody wrote at the old place meanwhile.
func (c *copying) unchanged(ctx context.Context) error {
	now, err := c.from.allHeads(ctx, c.from.load)
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
