package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// many is a store behind several servers.
type many struct {
	store.Store
	servers []store.Store
}

func (m many) Endpoints() []store.Store { return m.servers }

// lagging is a server that reads what was there before the last swap.
type lagging struct {
	store.Store
	mu     sync.Mutex
	before map[string]store.Record
}

func (l *lagging) Get(ctx context.Context, key string) (store.Record, error) {
	rec, err := l.Store.Get(ctx, key)
	if err != nil {
		return rec, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.before[key]; !ok {
		l.before[key] = rec
	}
	return l.before[key], nil
}

// lenient is a server that lets a loser win who comes some time after the race.
type lenient struct {
	store.Store
	mu    sync.Mutex
	swaps int
}

func (l *lenient) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	rev, err := l.Store.Swap(ctx, key, old, data)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.swaps++; l.swaps > 32 && errors.Is(err, store.ErrConflict) {
		return "late", nil
	}
	return rev, err
}

func TestProveAsksEveryServer(t *testing.T) {
	shared := memory.New()
	for says, servers := range map[string][]store.Store{
		"":                       {shared, shared},
		"read back":              {shared, &lagging{Store: shared, before: map[string]store.Record{}}},
		"swap of an old":         {&lenient{Store: shared}},
		"creations of one recor": {shared, memory.New()}, // two buckets
		"swaps of one revision":  {shared, careless{shared, false, true}},
	} {
		err := store.Prove(t.Context(), many{shared, servers})
		switch {
		case says == "" && err != nil:
			t.Errorf("sound servers: %v", err)
		case says != "" && (!errors.Is(err, store.ErrUnproven) || !strings.Contains(err.Error(), says)):
			t.Errorf("error %v, want ErrUnproven with %q", err, says)
		}
	}
}

// A store is known again by its mark, whoever has made that; an empty one is not.
func TestMark(t *testing.T) {
	s := memory.New()
	var first, second, offline store.Mark
	for range 2 {
		for _, m := range []*store.Mark{&first, &second} {
			if err := errors.Join(m.Claim(t.Context(), s), m.Present(t.Context(), s)); err != nil {
				t.Error(err)
			}
		}
	}
	empty := memory.New()
	if err := first.Present(t.Context(), empty); err == nil || !strings.Contains(err.Error(), "removed or emptied") {
		t.Errorf("emptied: %v", err)
	}
	// A store that lost its mark alone still has its states: nobody may read that it is empty.
	if err := s.Remove(t.Context(), store.MarkKey); err != nil {
		t.Fatal(err)
	}
	err := first.Present(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), store.MarkKey) || strings.Contains(err.Error(), "empty") {
		t.Errorf("mark lost: %v, want that the record is gone", err)
	}
	var other store.Mark
	if err := other.Claim(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	if err := first.Present(t.Context(), empty); err == nil || !strings.Contains(err.Error(), "another one") {
		t.Errorf("replaced: %v", err)
	}
	if err := offline.Present(t.Context(), empty); err != nil {
		t.Errorf("never claimed: %v", err)
	}
}
