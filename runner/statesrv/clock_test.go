package statesrv_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// clock is one that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A lock is never too old: an apply may take any time.
func TestLocksDoNotExpire(t *testing.T) {
	now := newClock()
	states := statesrv.NewStates(memory.New(), statesrv.Rules{Now: now.Now})
	mustLock(t, states, "s", lockA)
	now.add(10 * 365 * 24 * time.Hour)
	if _, err := states.Lock(t.Context(), "s", []byte(lockB), statesrv.Caller{}); statusOf(err) != http.StatusLocked {
		t.Errorf("a lock after ten years: %v, want 423", err)
	}
	mustWrite(t, states, "s", "a", doc(1, "l"))
	if _, err := states.PruneAll(t.Context(), statesrv.PruneRules{MaxAge: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if held, err := states.Holder(t.Context(), "s"); err != nil || held == nil || held.Info.ID != "a" {
		t.Errorf("held by %v, %v; want a", held, err)
	}
}
