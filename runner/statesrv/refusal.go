package statesrv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Refusal is the error for a request that the rules do not allow. Asking again
// without a change gives the same answer. Every other error of this package is damage,
// an [ErrDamaged], or a fault of the store, which may pass.
type Refusal struct {
	// Status is the HTTP status that says it, 4xx.
	Status int
	// Message says what is wrong and the way out, for people.
	Message string
	// Holder is the lock that stands in the way, if one does.
	Holder *Lock
}

func (r *Refusal) Error() string { return r.Message }

// refusalOf returns the refusal in err, or nil.
func refusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

func badRequest(message string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Message: message}
}

func conflict(format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusConflict, Message: fmt.Sprintf(format, args...)}
}

func forbidden(format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusForbidden, Message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Message: fmt.Sprintf(format, args...)}
}

// Forbid returns the refusal of what a user may not do to a state (403). An attempt to change a state that there is
// becomes an event of it; what is "" for one to read. Names that are no states get no log: whoever may do nothing could
// fill the store with them.
func (s *States) Forbid(ctx context.Context, who Identity, name string, what Action, by Caller) *Refusal {
	r := who.forbid(name, what != "")
	if what == "" {
		return r
	}
	if _, rev, err := s.loadRecord(ctx, name); err == nil && rev != "" {
		s.recordRefusal(ctx, name, s.newEvent(what, by), r)
	}
	return r
}

// heldBy adds the holder to a refusal.
func (r *Refusal) heldBy(l *Lock) *Refusal {
	r.Holder = l
	return r
}
