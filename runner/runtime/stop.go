package runtime

import (
	"context"
	"sync"
	"time"
)

// minBetween is the least time between the second SIGINT and SIGKILL: a runtime whose state server
// hangs takes 5 s after the second SIGINT to give up by itself.
const minBetween = 6 * time.Second

// Stop is the one stop budget of a run (spec/runner.md, "Signals"): the clock that the first SIGTERM,
// SIGINT or the deadline starts, and that everything until the last byte of the result must fit in.
// The zero value is not usable; see [NewStop]. It is safe for concurrent use.
type Stop struct {
	budget    time.Duration
	requested context.Context // ends with the request, and has its cause
	request   context.CancelCauseFunc

	mu sync.Mutex
	at time.Time // of the request
}

// NewStop makes a stop that was not requested yet. The budget counts from the request.
func NewStop(budget time.Duration) *Stop {
	s := &Stop{budget: budget}
	s.requested, s.request = context.WithCancelCause(context.Background())
	return s
}

// Request starts the clock. Only the first request counts; it reports whether this was it.
func (s *Stop) Request(cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Cause() != nil {
		return false
	}
	s.at = time.Now()
	s.request(cause)
	return true
}

// Done is closed once the stop is requested.
func (s *Stop) Done() <-chan struct{} { return s.requested.Done() }

// AfterFunc calls f in its own goroutine once the stop is requested, unless the returned function is called before.
func (s *Stop) AfterFunc(f func()) (forget func() bool) { return context.AfterFunc(s.requested, f) }

// Context derives a context that ends when the stop is requested, with its cause.
func (s *Stop) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	forget := s.AfterFunc(func() { cancel(s.Cause()) })
	return ctx, func() { forget(); cancel(nil) }
}

// Cause is what the first request gave, nil before it.
func (s *Stop) Cause() error { return context.Cause(s.requested) }

// Deadline is the end of the budget. Before the request it is the zero time.
func (s *Stop) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() {
		return time.Time{}
	}
	return s.at.Add(s.budget)
}

// ladder says how long after the first SIGINT a child gets the second one, and then SIGKILL.
type ladder struct{ again, kill time.Duration }

// newLadder divides a stop budget:
//
//	0 ........................ again ......... kill ........ budget
//	  the child saves its state  6 s or more     rescue, result
//
// A quarter of the budget, 10 s at most, is kept for the rescue of the state and the result. A budget
// too small for 6 s between the two is halved between waiting and pressing.
func newLadder(budget time.Duration) ladder {
	kill := budget - min(budget/4, 10*time.Second)
	return ladder{again: max(kill-minBetween, kill/2), kill: kill}
}

// ladder is that of a child that is asked to end now, when part of the budget is used already.
func (s *Stop) ladder() ladder {
	l := newLadder(s.budget)
	used := time.Since(s.Deadline().Add(-s.budget))
	return ladder{again: max(l.again-used, 0), kill: max(l.kill-used, 0)}
}
