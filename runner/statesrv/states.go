package statesrv

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Rules are the choices that an operator has. The zero value is the default.
type Rules struct {
	// RequireLock refuses a write or delete without a lock (428).
	RequireLock bool
	// AllowEmptyUnlock lets an UNLOCK without any ID release the lock, as that of
	// Terraform's force-unlock.
	AllowEmptyUnlock bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets what has no caller to be returned to; nil discards it.
	Log *slog.Logger
	// Observe is told of every event, done or refused, once; it has to be quick. nil
	// means nobody.
	Observe func(state string, ev Event)
}

// States are the states of one store, with the rules applied. Its methods are
// safe for concurrent use, and so is one store under several States, in one
// process or, if the store allows it, in several.
//
// A method that is not allowed to do what it is asked returns a *Refusal; any
// other error is a fault of the store, after which the old state is intact.
type States struct {
	store store.Store
	log   store.Log
	rules Rules
	names keyedLock
	heads headCache
	// healed has, by name, the ID of a head whose events are all in the log.
	healed sync.Map
}

// NewStates puts the rules on top of a store.
func NewStates(st store.Store, rules Rules) *States {
	if rules.Now == nil {
		rules.Now = time.Now
	}
	if rules.Log == nil {
		rules.Log = slog.New(slog.DiscardHandler)
	}
	if rules.Observe == nil {
		rules.Observe = func(string, Event) {}
	}
	return &States{store: st, log: store.LogOf(st), rules: rules}
}

func (s *States) now() time.Time { return s.rules.Now().UTC() }

// afterChange does what must follow a change but cannot undo it: the log and the
// files for people. Both are made good later if it fails.
func (s *States) afterChange(ctx context.Context, name string, ev *Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	s.rules.Observe(name, *ev)
	if err := s.appendEvent(ctx, name, *ev); err != nil {
		s.rules.Log.Warn("event not logged yet", "state", name, "event", ev.ID, "error", err)
	}
	if err := s.mirror(ctx, name); err != nil {
		s.rules.Log.Warn("files for people not updated", "state", name, "error", err)
	}
}

// keyedLock is a mutex for each key. It saves racing requests of one process
// from writing bodies in vain; correctness does not need it.
type keyedLock struct {
	mu    sync.Mutex
	queue map[string]*queue
}

type queue struct {
	turn  chan struct{} // holds one token while the key is locked
	users int
}

// lock waits for the key until ctx is done.
func (k *keyedLock) lock(ctx context.Context, key string) (unlock func(), err error) {
	q := k.enter(key)
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; k.leave(key, q) }, nil
	case <-ctx.Done():
		k.leave(key, q)
		return nil, ctx.Err()
	}
}

func (k *keyedLock) enter(key string) *queue {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.queue == nil {
		k.queue = map[string]*queue{}
	}
	q, ok := k.queue[key]
	if !ok {
		q = &queue{turn: make(chan struct{}, 1)}
		k.queue[key] = q
	}
	q.users++
	return q
}

func (k *keyedLock) leave(key string, q *queue) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(k.queue, key)
	}
}
