package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
)

// ErrUnproven says that a store does not enforce its conditions: two writers
// could be granted one lock. Do not serve from it.
var ErrUnproven = errors.New("this store does not enforce conditional writes")

// provers is how many writers race in Prove. Fewer let a store pass whose check
// and write are not one step.
const provers = 32

// Prove shows that s enforces its conditions among concurrent writers: one of
// many wins a Create, one of many wins a Swap, and a stale Swap is refused. It
// returns an error that wraps ErrUnproven if not, and any other error if the store
// could not be asked. It writes below the key "%probe" and removes it.
func Prove(ctx context.Context, s Store) error {
	key := "%probe/" + rand.Text()
	defer s.Remove(context.WithoutCancel(ctx), key)
	revs, err := race(func(data []byte) (Revision, error) { return s.Create(ctx, key, data) }, ErrExists)
	if err != nil {
		return fmt.Errorf("prove create: %w", err)
	}
	if len(revs) != 1 {
		return fmt.Errorf("%w: %d of %d creations of one record succeeded", ErrUnproven, len(revs), provers)
	}
	first := revs[0]
	revs, err = race(func(data []byte) (Revision, error) { return s.Swap(ctx, key, first, data) }, ErrConflict)
	if err != nil {
		return fmt.Errorf("prove swap: %w", err)
	}
	if len(revs) != 1 {
		return fmt.Errorf("%w: %d of %d swaps of one revision succeeded", ErrUnproven, len(revs), provers)
	}
	return proveStale(ctx, s, key, first, revs[0])
}

// race runs many writers at once and returns the revisions of those that won. It
// is an error if one fails otherwise than with lost.
func race(write func([]byte) (Revision, error), lost error) ([]Revision, error) {
	var (
		mu    sync.Mutex
		won   []Revision
		fault error
		group sync.WaitGroup
	)
	start := make(chan struct{})
	for range provers {
		group.Go(func() {
			<-start
			rev, err := write([]byte(rand.Text()))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won = append(won, rev)
			case !errors.Is(err, lost):
				fault = err
			}
		})
	}
	close(start)
	group.Wait()
	return won, fault
}

func proveStale(ctx context.Context, s Store, key string, stale, now Revision) error {
	if _, err := s.Swap(ctx, key, stale, []byte(rand.Text())); !errors.Is(err, ErrConflict) {
		return fmt.Errorf("%w: a swap of an old revision was not refused: %v", ErrUnproven, err)
	}
	rec, err := s.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("prove read: %w", err)
	}
	if rec.Revision != now {
		return fmt.Errorf("%w: the value read back is not the one that won", ErrUnproven)
	}
	return nil
}
