package runner

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/runtime"
)

// heldBy is a lockKeeper that only knows who holds the lock.
type heldBy struct {
	lockKeeper
	holder *lock.Info
	err    error
}

func (h *heldBy) Holder(context.Context) (*lock.Info, error) { return h.holder, h.err }

func TestOverdueWait(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const limit = 10 * time.Second
	tests := []struct {
		name   string
		keeper func(now time.Time) lockKeeper
		given  time.Duration // when the step is given up; 0: never
	}{
		{"another holds it", func(now time.Time) lockKeeper {
			return &heldBy{holder: &lock.Info{ID: "x", Who: "root@elsewhere", Created: now.Add(time.Second)}}
		}, limit},
		{"an older run on this host holds it", func(now time.Time) lockKeeper {
			return &heldBy{holder: &lock.Info{ID: "x", Who: "root@" + host, Created: now.Add(-time.Hour)}}
		}, limit},
		{"the step itself has it", func(now time.Time) lockKeeper {
			return &heldBy{holder: &lock.Info{ID: "x", Who: "root@" + host, Created: now.Add(time.Second)}}
		}, 0},
		{"it is free", func(time.Time) lockKeeper { return &heldBy{} }, 0},
		{"nobody can look", func(time.Time) lockKeeper { return nil }, limit + unlookedSilence},
		{"the look fails", func(time.Time) lockKeeper { return &heldBy{err: errors.New("no answer")} }, limit + unlookedSilence},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var given time.Duration
				out := &sink{waiting: func() {}}
				out.waitLine(true)
				w := &overdueWait{
					run: &run{stop: runtime.NewStop(time.Minute), keeper: tt.keeper(start)}, out: out, since: start,
					giveUp: func() { given = time.Since(start); cancel() },
				}
				w.check(ctx, limit)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if given != tt.given {
					t.Errorf("given up after %s, want %s", given, tt.given)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// A step that goes on, or is over, is not given up.
func TestOverdueWaitThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := &sink{waiting: func() {}}
		out.waitLine(true)
		w := &overdueWait{run: &run{stop: runtime.NewStop(time.Minute)}, out: out, giveUp: func() { t.Error("given up") }}
		w.check(ctx, time.Second)
		time.Sleep(2 * time.Second) // nobody can look
		out.waitLine(false)
		time.Sleep(2 * unlookedSilence)
	})
}
