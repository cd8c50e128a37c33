package statesrv

import (
	"context"
	"errors"
	"syscall"
)

// Status is what a list shows of one state.
type Status struct {
	Name string `json:"name"`
	// Current is nil when there is no state: never written, or deleted.
	Current *Version `json:"current"`
	Deleted bool     `json:"deleted,omitempty"`
	Lock    *Lock    `json:"lock"`
	// Versions is how many there were, pruned ones included.
	Versions int `json:"versions"`
	// Error says why the state cannot be read, in a list.
	Error string `json:"error,omitempty"`
}

// StatusPage is a part of the states, in the order of their names.
type StatusPage struct {
	States []Status `json:"states"`
	// Next is the after of the following page, "" if there is none.
	Next string `json:"next,omitempty"`
}

// Status returns the status of one state, also of one that never was.
func (s *States) Status(ctx context.Context, name string) (Status, error) {
	if err := CheckName(name); err != nil {
		return Status{}, err
	}
	h, _, err := s.load(ctx, name)
	if err != nil {
		return Status{}, err
	}
	return Status{Name: name, Current: h.Current, Deleted: h.Deleted, Lock: h.Lock, Versions: h.Last}, nil
}

// List returns at most limit states, but not less than one, whose names follow after, and for which keep
// is true; nil keeps all. States that were never written nor are locked are left
// out.
func (s *States) List(ctx context.Context, after string, limit int, keep func(name string) bool) (StatusPage, error) {
	page, limit := StatusPage{States: []Status{}}, max(limit, 1)
	for dir, err := range s.store.List(ctx, "") {
		if err != nil {
			return page, err
		}
		name, ok := nameOf(dir)
		if !ok || dir <= dirOf(after) || keep != nil && !keep(name) {
			continue
		}
		if len(page.States) == limit {
			page.Next = page.States[limit-1].Name
			return page, nil
		}
		st, err := s.Status(ctx, name)
		if ctx.Err() != nil {
			return page, ctx.Err()
		}
		if looseFile(err) {
			continue
		}
		if err != nil { // one damaged state does not hide the others
			st = Status{Name: name, Error: err.Error()}
		}
		if st.Versions > 0 || st.Lock != nil || st.Error != "" {
			page.States = append(page.States, st)
		}
	}
	if len(page.States) == 0 { // or the whole store is gone
		return page, s.present(ctx)
	}
	return page, nil
}

// looseFile reports whether what is named like a state is a file beside the states, as a README: it is no state, and
// no damage of one.
func looseFile(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// Ready returns nil if the store can be read, is still where it was, and is not known
// to be unwritable.
func (s *States) Ready(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	if _, _, err := s.loadRecord(ctx, "ready"); err != nil {
		return err
	}
	return s.present(ctx)
}
