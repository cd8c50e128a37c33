package statesrv

import (
	"context"
	"net/http"
)

// Lock grants the lock with the record in body, or refuses it with the holder
// (423). The same ID again succeeds and gives the lock that is held: clients
// repeat a LOCK whose answer was lost.
func (s *States) Lock(ctx context.Context, name string, body []byte, by Caller) (*Lock, error) {
	info, bad := ParseLockInfo(body)
	if bad == nil {
		bad = checkCreated(body)
	}
	ev := s.newEvent(ActionLock, by).from(info)
	h, err := s.change(ctx, name, ev, func(h *head) (bool, error) {
		switch {
		case bad != nil:
			return false, bad
		case h.Lock == nil:
			h.Lock = &Lock{Info: info, Since: ev.Time, By: ev.By}
			return true, nil
		case h.Lock.Info.ID == info.ID:
			return false, nil
		}
		return false, (&Refusal{Status: http.StatusLocked,
			Message: "the state is locked: " + h.Lock.String()}).heldBy(h.Lock)
	})
	if err != nil {
		return nil, err
	}
	return h.Lock, nil
}

// Holder returns the lock that is held, or nil.
func (s *States) Holder(ctx context.Context, name string) (*Lock, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	h, _, err := s.load(ctx, name)
	if err != nil {
		return nil, err
	}
	return h.Lock, nil
}
