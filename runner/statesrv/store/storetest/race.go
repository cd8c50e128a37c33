package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

const (
	racers = 32
	rounds = 5
)

// race lets many writers, on several handles, start at the same moment, and
// returns how many won. Every other one must fail with lost.
func race(t *testing.T, open func() store.Store, lost error, write func(s store.Store, i int) error) int {
	t.Helper()
	handles := []store.Store{open(), open()}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		won   int
	)
	start := make(chan struct{})
	for i := range racers {
		group.Go(func() {
			<-start
			err := write(handles[i%len(handles)], i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, lost) {
				t.Errorf("writer %d: %v, want %v", i, err, lost)
			}
		})
	}
	close(start)
	group.Wait()
	return won
}

func testCreateRace(t *testing.T, open func() store.Store) {
	for round := range rounds {
		key := "race/" + strconv.Itoa(round)
		won := race(t, open, store.ErrExists, func(s store.Store, i int) error {
			_, err := s.Create(t.Context(), key, fmt.Append(nil, "writer ", i))
			return err
		})
		if won != 1 {
			t.Errorf("round %d: %d of %d creations succeeded, want 1", round, won, racers)
		}
	}
}

func testSwapRace(t *testing.T, open func() store.Store) {
	s := open()
	rev := must(s.Create(t.Context(), "race/swap", []byte("start")))(t)
	for round := range rounds {
		won := race(t, open, store.ErrConflict, func(s store.Store, i int) error {
			_, err := s.Swap(t.Context(), "race/swap", rev, fmt.Append(nil, "round ", round, " writer ", i))
			return err
		})
		if won != 1 {
			t.Errorf("round %d: %d of %d swaps succeeded, want 1", round, won, racers)
		}
		rev = must(s.Get(t.Context(), "race/swap"))(t).Revision
	}
}

// testCounter adds by compare-and-swap from many sides: no addition is lost.
func testCounter(t *testing.T, open func() store.Store) {
	const writers, times = 6, 8
	handles := []store.Store{open(), open()}
	must(handles[0].Create(t.Context(), "counter", []byte("0 by nobody")))(t)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range times {
				if err := add(t.Context(), handles[w%2], fmt.Sprintf("%d-%d", w, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	rec := must(handles[1].Get(t.Context(), "counter"))(t)
	var n int
	if _, err := fmt.Sscan(string(rec.Data), &n); err != nil || n != writers*times {
		t.Errorf("counter is %q, want %d", rec.Data, writers*times)
	}
}

func add(ctx context.Context, s store.Store, who string) error {
	for {
		rec, err := s.Get(ctx, "counter")
		if err != nil {
			return err
		}
		var n int
		if _, err := fmt.Sscan(string(rec.Data), &n); err != nil {
			return fmt.Errorf("torn value %q: %w", rec.Data, err)
		}
		_, err = s.Swap(ctx, "counter", rec.Revision, fmt.Appendf(nil, "%d by %s", n+1, who))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// testModel does random operations and compares each answer with a map's.
func testModel(t *testing.T, s store.Store) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	model := map[string]string{}
	revs := map[string]store.Revision{}
	for i := range 200 {
		key := "model/" + strconv.Itoa(random.IntN(5))
		value := fmt.Sprintf("value %d", i)
		_, exists := model[key]
		var err, want error
		switch random.IntN(4) {
		case 0:
			var rev store.Revision
			rev, err = s.Create(t.Context(), key, []byte(value))
			if exists {
				want = store.ErrExists
			} else {
				model[key], revs[key] = value, rev
			}
		case 1:
			old := revs[key]
			if random.IntN(3) == 0 {
				old = "not a revision"
			}
			var rev store.Revision
			rev, err = s.Swap(t.Context(), key, old, []byte(value))
			switch {
			case !exists:
				want = store.ErrNotFound
			case old != revs[key]:
				want = store.ErrConflict
			default:
				model[key], revs[key] = value, rev
			}
		case 2:
			err = s.Remove(t.Context(), key)
			delete(model, key)
			delete(revs, key)
		case 3:
			var rec store.Record
			rec, err = s.Get(t.Context(), key)
			if !exists {
				want = store.ErrNotFound
			} else if string(rec.Data) != model[key] || rec.Revision != revs[key] {
				t.Fatalf("seed %d, step %d: %s is %q, want %q", seed, i, key, rec.Data, model[key])
			}
		}
		if !errors.Is(err, want) {
			t.Fatalf("seed %d, step %d: error %v, want %v", seed, i, err, want)
		}
	}
}
