package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/captf/captf-runner/runner/runtime"
)

// A request before a step ends after a few seconds, and at once when the run is told to stop.
func TestLookAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{stop: runtime.NewStop(time.Minute)}
		begin := time.Now()
		ctx, cancel := r.lookAhead(t.Context())
		defer cancel()
		if <-ctx.Done(); time.Since(begin) != lookTimeout {
			t.Errorf("it ended after %s, want %s", time.Since(begin), lookTimeout)
		}
		begin = time.Now()
		ctx, cancel = r.lookAhead(t.Context())
		defer cancel()
		time.AfterFunc(time.Second, func() { r.stop.Request(errors.New("test")) })
		if <-ctx.Done(); time.Since(begin) != time.Second {
			t.Errorf("it ended %s after its begin, want at once at the stop", time.Since(begin))
		}
	})
}

// A request after a step is made after a stop as well, within a share of what is left of the budget.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ budget, used, want time.Duration }{
			{time.Hour, time.Second, lookTimeout},
			{10 * time.Second, 5 * time.Second, time.Second},
			{10 * time.Second, 10 * time.Second, 100 * time.Millisecond},
		} {
			r := &run{stop: runtime.NewStop(tt.budget)}
			r.stop.Request(errors.New("test"))
			time.Sleep(tt.used)
			stopped, end := context.WithCancel(t.Context())
			end()
			begin := time.Now()
			ctx, cancel := r.look(stopped)
			<-ctx.Done()
			cancel()
			if took := time.Since(begin); took != tt.want {
				t.Errorf("budget %s, used %s: it may take %s, want %s", tt.budget, tt.used, took, tt.want)
			}
		}
	})
}

// A stop that comes during such a request leaves it a share of the budget: a lock that is being released then, or a
// document that is being kept, would be left to others.
func TestStopDuringLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{stop: runtime.NewStop(10 * time.Second)}
		begin := time.Now()
		ctx, cancel := r.look(t.Context())
		defer cancel()
		time.AfterFunc(time.Second, func() { r.stop.Request(errors.New("test")) })
		if <-ctx.Done(); time.Since(begin) != 3*time.Second {
			t.Errorf("it ended after %s, want a second and a fifth of the budget", time.Since(begin))
		}
	})
}
