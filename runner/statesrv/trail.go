package statesrv

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// trailPause is how long changes of one state are collected, after the files were
// written for those before them.
const trailPause = 200 * time.Millisecond

// trail keeps the files for people behind the records: they are written after the
// answer, and once for all changes that came meanwhile. A crash loses nothing by
// that, for the next start finds what the files lack.
type trail struct {
	write func(name string)

	mu     sync.Mutex
	states map[string]*follower
}

// follower is the worker of one state, while there is something to do.
type follower struct {
	next, now chan struct{} // closed when that round is written; nil for none
	hurry     chan struct{}
}

// add says that a state has changed.
func (t *trail) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.states[name]
	if f == nil {
		if t.states == nil {
			t.states = map[string]*follower{}
		}
		f = &follower{hurry: make(chan struct{}, 1)}
		t.states[name] = f
		go t.work(name, f)
	}
	if f.next == nil {
		f.next = make(chan struct{})
	}
}

// work ends when a pause has brought no change.
func (t *trail) work(name string, f *follower) {
	for done := t.take(name, f); done != nil; done = t.take(name, f) {
		t.write(name)
		close(done)
		select {
		case <-f.hurry:
		case <-time.After(trailPause):
		}
	}
}

func (t *trail) take(name string, f *follower) (done chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.now, f.next = f.next, nil
	if f.now == nil {
		delete(t.states, name)
	}
	return f.now
}

// wait returns when the files have all changes that were added before, or ctx is done.
func (t *trail) wait(ctx context.Context) {
	for _, done := range t.hurry() {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}

// hurry ends all pauses, and returns what is to be waited for.
func (t *trail) hurry() (rounds []chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range maps.Values(t.states) {
		select {
		case f.hurry <- struct{}{}:
		default:
		}
		rounds = append(rounds, f.now, f.next)
	}
	return slices.DeleteFunc(rounds, func(c chan struct{}) bool { return c == nil })
}
