// Package settle finds out what became of a conditional write to a server, whose
// answer may be lost or wrong. Start with [Do].
//
// Every write has an id, fresh for each Create and Swap, that the server keeps with
// the value. Whatever does not answer with success is followed by reading that id
// back: the write's own id is a success, an unchanged record is another try with
// the same id. What stays open after that, or was overwritten by somebody who may
// have seen it, is store.ErrUnknown.
package settle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Tries is how often one write is sent at most, always with the same id.
const Tries = 4

const (
	firstGap = 50 * time.Millisecond // between tries, doubled each time
	lookTime = 10 * time.Second      // to read an id back, also for a caller that has gone
	patience = 20 * time.Second      // after which a write is not sent again: its caller has a limit as well
)

// Write is one Create or Swap.
type Write struct {
	Key  string
	Data []byte
	// ID tells one's own write, which the value's bytes do not: two writers may bring
	// equal ones.
	ID string
	// Create: the condition is that there is no record, else that it is at Old.
	Create bool
	Old    store.Revision
}

// Create returns the write of store.Store.Create.
func Create(key string, data []byte) Write {
	return Write{Key: key, Data: data, ID: rand.Text(), Create: true}
}

// Swap returns the write of store.Store.Swap.
func Swap(key string, old store.Revision, data []byte) Write {
	return Write{Key: key, Data: data, ID: rand.Text(), Old: old}
}

// Object is what is stored under a key at one moment.
type Object struct {
	Exists   bool
	Revision store.Revision
	ID       string // of the write that made it
}

// Answer is what the error of a conditional write says of its outcome.
type Answer int

const (
	Unclear Answer = iota // it may have been done, or be done yet
	Refused               // its condition does not hold
	Never                 // it was not done, and the same request never will be
)

// Server is what keeps the records.
type Server interface {
	// Put sends a write once.
	Put(ctx context.Context, w Write) (store.Revision, error)
	// Look reads what is stored, from the primary copy.
	Look(ctx context.Context, key string) (Object, error)
	// AnswerOf says what an error of Put means.
	AnswerOf(err error) Answer
	// Explain adds the way out to an error that a person has to see to.
	Explain(err error) error
}

// Do sends w until its outcome is known, at most a few times.
func Do(ctx context.Context, s Server, w Write) (store.Revision, error) {
	rev, err := do(ctx, s, w)
	if err != nil {
		return "", fmt.Errorf("%s: %w", w, err)
	}
	return rev, nil
}

func do(ctx context.Context, s Server, w Write) (store.Revision, error) {
	lost := false // the answer of one try: it may have been done
	began := time.Now()
	for try := 1; ; try++ {
		rev, err := s.Put(ctx, w)
		if err == nil {
			return rev, nil
		}
		answer := s.AnswerOf(err)
		if answer == Never && !lost {
			return "", s.Explain(err)
		}
		lost = lost || answer == Unclear
		now, lookErr := look(ctx, s, w.Key)
		switch {
		case lookErr != nil:
			return "", unknown(err, lookErr)
		case now.ID == w.ID:
			return now.Revision, nil
		case !w.changed(now):
			if try == Tries || time.Since(began) >= patience || !pause(ctx, try) {
				return "", unknown(err, errGivenUp)
			}
		case lost:
			return "", unknown(err, errOverwritten)
		default:
			return "", w.lostTo(now)
		}
	}
}

// Refuse answers a swap of a revision that no record has, without sending it: some
// servers take it for no condition at all.
func Refuse(ctx context.Context, s Server, w Write) (store.Revision, error) {
	now, err := look(ctx, s, w.Key)
	if err == nil {
		err = w.lostTo(now)
	}
	return "", fmt.Errorf("%s: %w", w, err)
}

func look(ctx context.Context, s Server, key string) (Object, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	now, err := s.Look(ctx, key)
	if err != nil {
		return Object{}, fmt.Errorf("read back: %w", s.Explain(err))
	}
	return now, nil
}

// Why an outcome stays open.
var (
	errGivenUp     = errors.New("it is not done yet, and was tried often enough")
	errOverwritten = errors.New("another writer has written since")
)

func unknown(answer, why error) error {
	return fmt.Errorf("%w: %w; the last answer was: %w", store.ErrUnknown, why, answer)
}

// pause waits before the next try. It reports false if the caller has gone. This is no backoff.Retry, which gives such
// a caller the context's error: a write that may have been done has to be store.ErrUnknown.
func pause(ctx context.Context, try int) bool {
	gap := firstGap << (try - 1)
	select {
	case <-time.After(gap/2 + mathrand.N(gap)):
		return true
	case <-ctx.Done():
		return false
	}
}

// changed reports whether the condition of w does not hold any more.
func (w Write) changed(now Object) bool {
	if w.Create {
		return now.Exists
	}
	return !now.Exists || now.Revision != w.Old
}

// lostTo is the error of a write that another writer was faster than.
func (w Write) lostTo(now Object) error {
	switch {
	case w.Create:
		return store.ErrExists
	case !now.Exists:
		return store.ErrNotFound
	}
	return store.ErrConflict
}

func (w Write) String() string {
	if w.Create {
		return "create " + w.Key
	}
	return "swap " + w.Key
}
