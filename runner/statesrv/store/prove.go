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

// ProofDir has the records of proofs that are under way, and of those that were cut off.
const ProofDir = "%probe"

// How many writers race in Prove, and how often. Fewer let a store pass whose
// check and write are not one step.
const (
	provers     = 32
	proofRounds = 3
)

// Many is a store that can be reached through several servers. One of them may
// keep its promises alone and break them beside another.
type Many interface {
	// Endpoints returns one store for each server, all of the same records.
	Endpoints() []Store
}

// Prove shows that s enforces its conditions among concurrent writers: one of
// many wins a Create, one of many wins a Swap, a stale Swap is refused, and every
// reader sees the winner at once. That records can be removed and listed is tried too, for
// the rights to that may be missing. It returns an error that wraps ErrUnproven if
// not, and any other error if the store could not be asked. If s is a Many, the
// writers take turns over all of its servers. It writes below ProofDir and removes
// that: about 500 small requests.
func Prove(ctx context.Context, s Store) error {
	doors := []Store{s}
	if m, ok := s.(Many); ok {
		doors = m.Endpoints()
	}
	for range proofRounds {
		p := proof{key: ProofDir + "/" + rand.Text(), doors: doors}
		err := p.run(ctx)
		removed := s.Remove(context.WithoutCancel(ctx), p.key) // what stays harms nobody
		switch {
		case err != nil:
			return err
		case removed != nil:
			return fmt.Errorf("prove that what was written can be removed: %w", removed)
		}
	}
	for _, err := range s.List(ctx, ProofDir) {
		if err != nil {
			return fmt.Errorf("prove that records can be listed: %w", err)
		}
	}
	return nil
}

// proof is one round of Prove.
type proof struct {
	key   string
	doors []Store
}

func (p proof) run(ctx context.Context) error {
	first, err := p.one(ctx, "creations of one record", ErrExists, func(s Store, data []byte) (Revision, error) {
		return s.Create(ctx, p.key, data)
	})
	if err != nil {
		return err
	}
	second, err := p.one(ctx, "swaps of one revision", ErrConflict, func(s Store, data []byte) (Revision, error) {
		return s.Swap(ctx, p.key, first, data)
	})
	if err != nil {
		return err
	}
	return p.stale(ctx, first, second)
}

// one lets many writers race, of which one has to win, and returns its revision.
func (p proof) one(ctx context.Context, what string, lost error, write func(Store, []byte) (Revision, error)) (Revision, error) {
	won, err := p.race(ctx, lost, write)
	if err != nil {
		return "", fmt.Errorf("prove that one of many %s succeeds: %w", what, err)
	}
	if len(won) != 1 {
		return "", fmt.Errorf("%w: %d of %d %s succeeded", ErrUnproven, len(won), provers, what)
	}
	return won[0], p.read(ctx, won[0])
}

// race returns the revisions of those that won. It is an error if one fails
// otherwise than with lost.
func (p proof) race(ctx context.Context, lost error, write func(Store, []byte) (Revision, error)) ([]Revision, error) {
	var (
		mu           sync.Mutex
		won          []Revision
		fault        error
		ready, group sync.WaitGroup
	)
	start := make(chan struct{})
	ready.Add(provers)
	for i := range provers {
		group.Go(func() {
			door := p.doors[i%len(p.doors)]
			_, err := door.Get(ctx, p.key) // opens a connection, so that all write at once
			ready.Done()
			<-start
			var rev Revision
			if err == nil || errors.Is(err, ErrNotFound) {
				rev, err = write(door, []byte(rand.Text()))
			}
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
	ready.Wait()
	close(start)
	group.Wait()
	return won, fault
}

func (p proof) stale(ctx context.Context, old, now Revision) error {
	for _, door := range p.doors {
		_, err := door.Swap(ctx, p.key, old, []byte(rand.Text()))
		switch {
		case err == nil:
			return fmt.Errorf("%w: a swap of an old revision succeeded", ErrUnproven)
		case !errors.Is(err, ErrConflict):
			return fmt.Errorf("prove that a swap of an old revision is refused: %w", err)
		}
	}
	return p.read(ctx, now)
}

// read checks that every server has the value that won.
func (p proof) read(ctx context.Context, want Revision) error {
	for _, door := range p.doors {
		rec, err := door.Get(ctx, p.key)
		if err != nil {
			return fmt.Errorf("prove that the value written is read: %w", err)
		}
		if rec.Revision != want {
			return fmt.Errorf("%w: the value read back is not the one that won", ErrUnproven)
		}
	}
	return nil
}
