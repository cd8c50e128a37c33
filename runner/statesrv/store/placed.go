package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
)

// Placed is a store in a place that can be removed, emptied or replaced while it is
// open: what is absent there was not necessarily never written.
type Placed interface {
	// Claim remembers the place, and marks it for that if needed. Whoever serves from
	// the store calls it first.
	Claim(ctx context.Context) error
	// Present returns nil if the place is the one that was claimed, or if none was.
	Present(ctx context.Context) error
}

// Claim remembers the place of a store that is a [Placed].
func Claim(ctx context.Context, s Store) error {
	p, ok := s.(Placed)
	if !ok {
		return nil
	}
	if err := p.Claim(ctx); err != nil {
		return fmt.Errorf("mark the store: %w", err)
	}
	return nil
}

// MarkKey is the record by which a store of several machines is known again. Its name
// comes before those of all states: who removes everything removes it first.
const MarkKey = "%place"

// Mark makes a [Placed] of a store that has nothing better to be known by: a record
// with a random text, made by the first server that comes.
type Mark struct {
	mu   sync.Mutex
	text string // "" before Claim
}

// Claim reads the mark of s, or makes it.
func (m *Mark) Claim(ctx context.Context, s Store) error {
	rec, err := s.Get(ctx, MarkKey)
	if errors.Is(err, ErrNotFound) {
		if _, err = s.Create(ctx, MarkKey, []byte(rand.Text())); err != nil && !errors.Is(err, ErrExists) {
			return err
		}
		rec, err = s.Get(ctx, MarkKey)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = string(rec.Data)
	return nil
}

// Present compares the mark of s with the one that was claimed.
func (m *Mark) Present(ctx context.Context, s Store) error {
	m.mu.Lock()
	claimed := m.text
	m.mu.Unlock()
	if claimed == "" {
		return nil
	}
	rec, err := s.Get(ctx, MarkKey)
	switch {
	case errors.Is(err, ErrNotFound):
		return errors.New("the record " + MarkKey + " is gone: the whole store was removed or emptied, or that record alone; " +
			"put back what is missing, or start the server again: it takes the store as it is then")
	case err != nil:
		return err
	case string(rec.Data) != claimed:
		return errors.New("the store is another one than at the start of this server: put the old one back, or start the server again")
	}
	return nil
}
