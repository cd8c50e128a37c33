package statesrv

import "context"

// DeleteRequest asks to delete a state.
type DeleteRequest struct {
	// ID is that of the caller's lock, "" for none.
	ID string
	By Caller
}

// Delete makes the state absent, under the same lock rule as a write. The history
// is kept and can be restored. Deleting what is absent succeeds.
func (s *States) Delete(ctx context.Context, name string, req DeleteRequest) error {
	ev := s.newEvent(ActionDelete, req.By)
	ev.LockID = clip(req.ID)
	_, err := s.change(ctx, name, ev, func(h *head) (bool, error) {
		if err := mayWrite(h.Lock, req.ID, s.rules.RequireLock); err != nil {
			return false, err
		}
		if h.Current == nil {
			return false, nil
		}
		if h.Lock != nil {
			ev.from(h.Lock.Info)
		}
		ev.Serial = h.Current.Serial
		h.Current, h.Deleted = nil, true
		return true, nil
	})
	return err
}
