package statesrv

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
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
	plain store.Plain // nil if the store has no files for people
	rules Rules
	names keyedLock
	heads headCache
	trail trail
	// unwritable is why nothing may be changed, nil or a nil error if it may.
	unwritable atomic.Pointer[error]
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
	s := &States{store: st, log: store.LogOf(st), rules: rules}
	s.plain, _ = st.(store.Plain)
	s.trail.write = s.writeFiles
	return s
}

// SetUnwritable lets every change, and Ready, fail from now on for a reason, as that
// the disk is full; nil ends that. Reads go on.
func (s *States) SetUnwritable(why error) { s.unwritable.Store(&why) }

func (s *States) writable() error {
	if why := s.unwritable.Load(); why != nil && *why != nil {
		return fmt.Errorf("the store cannot be written to, so states can only be read: %w", *why)
	}
	return nil
}

func (s *States) now() time.Time { return s.rules.Now().UTC() }

// afterChange does what must follow a change but cannot undo it. It is made good
// later if it fails.
func (s *States) afterChange(ctx context.Context, name string, ev *Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTime)
	defer cancel()
	s.rules.Observe(name, *ev)
	if err := s.appendEvent(ctx, name, *ev); err != nil {
		s.rules.Log.Warn("event not logged yet", "state", name, "event", ev.ID, "error", err)
	}
	if s.plain != nil {
		s.trail.add(name)
	}
}

const afterTime = 10 * time.Second

// writeFiles makes the files for people right.
func (s *States) writeFiles(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), afterTime)
	defer cancel()
	if err := s.mirror(ctx, name); err != nil {
		s.rules.Log.Warn("files for people not updated", "state", name, "error", err)
	}
}

// Flush returns when the files for people have every change that was made before, or
// ctx is done. Call it before the store is closed.
func (s *States) Flush(ctx context.Context) { s.trail.wait(ctx) }

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
