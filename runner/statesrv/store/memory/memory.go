// Package memory is a store in the memory of one process, for tests. Start with
// [New].
package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Store is a store.Store under one mutex.
type Store struct {
	mu      sync.Mutex
	records map[string][]byte
}

// New returns an empty store.
func New() *Store { return &Store{records: map[string][]byte{}} }

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	if err := store.Check(ctx, key); err != nil {
		return store.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.records[key]
	if !ok {
		return store.Record{}, fmt.Errorf("get %s: %w", key, store.ErrNotFound)
	}
	return store.Record{Data: bytes.Clone(data), Revision: store.RevisionOf(data)}, nil
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.records[key]; ok {
		return "", fmt.Errorf("create %s: %w", key, store.ErrExists)
	}
	s.records[key] = bytes.Clone(data)
	return store.RevisionOf(data), nil
}

// Swap implements store.Store.
func (s *Store) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.records[key]
	if !ok {
		return "", fmt.Errorf("swap %s: %w", key, store.ErrNotFound)
	}
	if store.RevisionOf(now) != old {
		return "", fmt.Errorf("swap %s: %w", key, store.ErrConflict)
	}
	s.records[key] = bytes.Clone(data)
	return store.RevisionOf(data), nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := ctx.Err(); err != nil {
			yield("", err)
			return
		}
		for _, name := range s.below(dir) {
			if !yield(name, nil) {
				return
			}
		}
	}
}

func (s *Store) below(dir string) []string {
	prefix := dir + "/"
	if dir == "" {
		prefix = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	for key := range s.records {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			name, _, _ := strings.Cut(rest, "/")
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, key string) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
	return nil
}
