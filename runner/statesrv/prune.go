package statesrv

import (
	"context"
	"fmt"
	"time"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// PruneRules say which versions lose their bytes; their entries stay. The zero
// value keeps all. The newest version is never pruned, nor is one that a newer
// one was not pruned before.
type PruneRules struct {
	// MaxVersions is how many versions of a state keep their bytes, the newest
	// included; 0 means any number.
	MaxVersions int
	// MaxAge is how long a version keeps its bytes after the next one has taken its
	// place; 0 means for ever.
	MaxAge time.Duration
}

// PruneAll prunes every state and returns how many versions lost their bytes. An
// error about one state does not keep the others; it is logged.
func (s *States) PruneAll(ctx context.Context, rules PruneRules) (int, error) {
	total := 0
	for dir, err := range s.store.List(ctx, "") {
		if err != nil {
			return total, err
		}
		name, ok := nameOf(dir)
		if !ok {
			continue
		}
		n, err := s.Prune(ctx, name, rules)
		total += n
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
		if err != nil && !looseFile(err) {
			s.rules.Log.Error("not pruned", "state", name, "error", err)
		}
	}
	return total, nil
}

// Prune deletes the bytes of old versions of one state and returns of how many. The
// head says first which versions are pruned, so that nobody reads for them; a
// Prune that was interrupted is finished by the next one.
func (s *States) Prune(ctx context.Context, name string, rules PruneRules) (int, error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	h, _, err := s.load(ctx, name)
	if err != nil {
		return 0, err
	}
	upTo, err := s.prunable(ctx, h, rules)
	if err != nil {
		return 0, err
	}
	if upTo > h.Pruned {
		if h, err = s.markPruned(ctx, name, rules); err != nil {
			return 0, err
		}
	}
	if h.Removed >= h.Pruned {
		return 0, nil
	}
	return s.removePruned(ctx, h)
}

// prunable returns the number up to which the rules take the bytes. No rule takes
// those of the newest version.
func (s *States) prunable(ctx context.Context, h *head, rules PruneRules) (int, error) {
	upTo := h.Pruned
	if rules.MaxVersions > 0 {
		upTo = max(upTo, h.Last-rules.MaxVersions)
	}
	if rules.MaxAge > 0 {
		old, err := s.replacedBefore(ctx, h, s.now().Add(-rules.MaxAge))
		if err != nil {
			return 0, err
		}
		upTo = max(upTo, old)
	}
	return upTo, nil
}

// replacedBefore returns the number of the newest version whose successor is older
// than a time, 0 if there is none.
func (s *States) replacedBefore(ctx context.Context, h *head, t time.Time) (int, error) {
	for v, err := range s.backwards(ctx, h, 0) {
		switch {
		case err != nil:
			return 0, err
		case v.Time.Before(t):
			return v.Number - 1, nil
		case v.Number <= h.Pruned:
			return 0, nil
		}
	}
	return 0, nil
}

func (s *States) markPruned(ctx context.Context, name string, rules PruneRules) (*head, error) {
	ev := s.newEvent(ActionPrune, Caller{Agent: "statesrv"})
	return s.change(ctx, name, ev, func(h *head) (bool, error) {
		upTo, err := s.prunable(ctx, h, rules)
		if err != nil || upTo <= h.Pruned {
			return false, err
		}
		ev.Note = fmt.Sprintf("versions %d to %d", h.Pruned+1, upTo)
		h.Pruned = upTo
		return true, nil
	})
}

// removePruned deletes the bytes that the head says are gone, and then notes that
// they are.
func (s *States) removePruned(ctx context.Context, h *head) (int, error) {
	n := 0
	for v, err := range s.backwards(ctx, h, h.Pruned+1) {
		if err != nil {
			return n, err
		}
		if v.Number <= h.Removed {
			break
		}
		if err := s.store.Remove(ctx, bodyKey(h.State, v.Body)); err != nil {
			return n, fmt.Errorf("state %s: prune version %d: %w", h.State, v.Number, err)
		}
		n++
	}
	if err := s.rewriteVersions(ctx, h.State); err != nil {
		return n, err
	}
	_, _, err := s.swapLoop(ctx, h.State, nil, func(now *head) (bool, error) {
		changed := now.Removed < h.Pruned
		now.Removed = max(now.Removed, h.Pruned)
		return changed, nil
	})
	return n, err
}

// rewriteVersions writes versions.json anew: entries in its middle have changed.
func (s *States) rewriteVersions(ctx context.Context, name string) error {
	return s.withFiles(ctx, name, func(f store.Files, h *head) error {
		// Its end tells that state.tfstate is right.
		if err := s.mirrorVersions(ctx, f, h); err != nil {
			return err
		}
		return s.listVersions(ctx, f, h, 0)
	})
}
