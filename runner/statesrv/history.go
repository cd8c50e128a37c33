package statesrv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// The newest entries are in the head record. When it has a full page of them,
// they move together into a record that never changes: versions 1 to 32, 33 to 64
// and so on. So a write costs the same however long the history is.

// VersionPage is a part of a state's history, newest first.
type VersionPage struct {
	Versions []Version `json:"versions"`
	// Next is the before of the following page, 0 if there is none.
	Next int `json:"next,omitempty"`
}

// Versions returns at most limit versions with numbers below before, newest
// first; before 0 starts at the newest.
func (s *States) Versions(ctx context.Context, name string, before, limit int) (VersionPage, error) {
	page := VersionPage{Versions: []Version{}}
	if err := CheckName(name); err != nil {
		return page, err
	}
	h, _, err := s.load(ctx, name)
	if err != nil {
		return page, err
	}
	for v, err := range s.backwards(ctx, h, before) {
		if err != nil {
			return page, err
		}
		if len(page.Versions) == limit {
			page.Next = v.Number + 1
			break
		}
		page.Versions = append(page.Versions, v)
	}
	return page, nil
}

// Version returns the entry of one version, or a Refusal with status 404.
func (s *States) Version(ctx context.Context, name string, number int) (Version, error) {
	if err := CheckName(name); err != nil {
		return Version{}, err
	}
	h, _, err := s.load(ctx, name)
	if err != nil {
		return Version{}, err
	}
	return s.version(ctx, h, number)
}

func (s *States) version(ctx context.Context, h *head, number int) (Version, error) {
	if h.Last == 0 {
		return Version{}, notFound("there is no state %s", h.State)
	}
	if number < 1 || number > h.Last {
		return Version{}, notFound("state %s has no version %d; its newest is %d", h.State, number, h.Last)
	}
	for v, err := range s.backwards(ctx, h, number+1) {
		return v, err
	}
	return Version{}, fmt.Errorf("state %s: the entry of version %d is missing", h.State, number)
}

// backwards yields the entries with numbers below before, newest first; before 0
// means all. Pruned is set as the head says: pages do not change.
func (s *States) backwards(ctx context.Context, h *head, before int) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		if before <= 0 || before > h.Last+1 {
			before = h.Last + 1
		}
		for v := range h.Recent.backward() {
			v.Pruned = v.Number <= h.Pruned
			if v.Number < before && !yield(v, nil) {
				return
			}
		}
		paged := h.Last - len(h.Recent)
		for n := min(before-1, paged); n > 0; n = firstOf(n) - 1 {
			entries, err := s.page(ctx, h.State, n)
			if err != nil {
				yield(Version{}, err)
				return
			}
			for _, v := range slices.Backward(entries) {
				v.Pruned = v.Number <= h.Pruned
				if v.Number < before && !yield(v, nil) {
					return
				}
			}
		}
	}
}

// firstOf returns the first number of the page that has number n.
func firstOf(n int) int { return (n-1)/pageSize*pageSize + 1 }

func pageKey(name string, first int) string {
	return bodyKey(name, fmt.Sprintf("%06d-%06d.json", first, first+pageSize-1))
}

func (s *States) page(ctx context.Context, name string, n int) ([]Version, error) {
	key := pageKey(name, firstOf(n))
	rec, err := s.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) { // it is written before the head names it, and stays
		return nil, damaged("state %s: %s is missing: put it back from a backup: %w", name, key, err)
	}
	if err != nil {
		return nil, fmt.Errorf("state %s: entries of versions: %w", name, err)
	}
	var entries []Version
	if err := json.Unmarshal(rec.Data, &entries); err != nil {
		return nil, damaged("state %s: %s is damaged: put it back from a backup: %w", name, key, err)
	}
	return entries, nil
}

// flushVersions moves a full page out of the head. Every writer that finds the
// page full stores the same bytes, so it does not matter who is first.
func (s *States) flushVersions(ctx context.Context, h *head) error {
	if len(h.Recent) < pageSize {
		return nil
	}
	data, err := h.Recent.appendTo(nil)
	if err != nil {
		return err
	}
	_, err = s.store.Create(ctx, pageKey(h.State, h.Recent[0].value.Number), data)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	h.Recent = nil
	return nil
}
