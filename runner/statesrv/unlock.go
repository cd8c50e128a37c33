package statesrv

import (
	"bytes"
	"context"
)

// UnlockRequest says which lock to release.
type UnlockRequest struct {
	// Body is the record that the client sends: its lock, only an ID (OpenTofu's
	// force-unlock), or empty (Terraform's).
	Body []byte
	// ID is an ID from elsewhere, as from ?ID=; "" for none.
	ID string
	By Caller
}

// Unlock releases the lock whose ID the caller shows. A lock that is another's is
// refused with the holder (409). A state that is not locked is left alone, and held is
// false: the answer to an earlier request may have been lost.
func (s *States) Unlock(ctx context.Context, name string, req UnlockRequest) (held bool, err error) {
	info, bad := req.info()
	action := ActionUnlock
	if info.onlyID() {
		action = ActionForceUnlock
	}
	ev := s.newEvent(action, req.By).from(info)
	_, err = s.change(ctx, name, ev, func(h *head) (bool, error) {
		held = h.Lock != nil
		if bad != nil || !held {
			return false, bad
		}
		if err := mayUnlock(h.Lock, info.ID, s.rules.AllowEmptyUnlock); err != nil {
			return false, err
		}
		if info.ID == "" {
			ev.Note = "the request had no lock ID"
		}
		ev.held(h.Lock)
		h.Lock = nil
		return true, nil
	})
	return held && err == nil, err
}

// info merges the two places where an ID may be.
func (r UnlockRequest) info() (LockInfo, error) {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		if r.ID == "" {
			return LockInfo{}, nil
		}
		return LockInfo{ID: r.ID}, checkLockID(r.ID)
	}
	info, err := ParseLockInfo(r.Body)
	if err == nil && r.ID != "" && r.ID != info.ID {
		err = badRequest("the ID in the body is not the one in ?ID=")
	}
	return info, err
}

// ForceUnlockRequest is the administrator's way to release a lock.
type ForceUnlockRequest struct {
	// ID is the lock's; or Any releases whatever lock is held.
	ID  string
	Any bool
	// Who names the administrator; the event has both names.
	Who string
	By  Caller
}

// ForceUnlock releases a lock that its holder cannot release, and returns it, or
// nil if none was held. It is refused if another lock is held than the one named.
func (s *States) ForceUnlock(ctx context.Context, name string, req ForceUnlockRequest) (*Lock, error) {
	ev := s.newEvent(ActionForceUnlock, req.By).from(LockInfo{ID: req.ID, Who: req.Who})
	var broken *Lock
	_, err := s.change(ctx, name, ev, func(h *head) (bool, error) {
		if req.ID == "" && !req.Any {
			return false, badRequest("say which lock to release, by its ID, or that any will do")
		}
		if h.Lock == nil {
			return false, nil
		}
		if err := mayUnlock(h.Lock, req.ID, req.Any); err != nil {
			return false, err
		}
		broken = h.Lock
		ev.held(broken)
		h.Lock = nil
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return broken, nil
}
