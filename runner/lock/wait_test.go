package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lock"
)

// The clock of these tests is that of synctest: it stands still while anything runs.

func TestWaitFree(t *testing.T) {
	tests := map[string]struct {
		before   func(verb string, a *api) error
		holder   string
		min, max time.Duration
	}{
		"free at once":     {onceBefore("get", unlock), "", 0, 0},
		"deleted":          {onceBefore("get", func(a *api) { a.lease = nil }), "", 0, 0},
		"freed after 3 s":  {after(3*time.Second, unlock), lockID, 3 * time.Second, 3*time.Second + 6*time.Second},
		"freed after 60 s": {after(time.Minute, unlock), lockID, time.Minute, time.Minute + 6*time.Second},
		"server away first": {func(_ string, a *api) error {
			if len(a.requests) < 4 {
				return apierrors.NewServiceUnavailable("etcd")
			}
			unlock(a)
			return nil
		}, "", time.Second, 15 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &api{lease: held(lockID, podName), before: test.before}
				got := must[lock.Wait](t)(lock.WaitFree(t.Context(), a, leaseName, lock.Poll{}))
				if got.Holder.ID != test.holder {
					t.Errorf("holder %q, want %q", got.Holder.ID, test.holder)
				}
				if got.Waited < test.min || got.Waited > test.max {
					t.Errorf("waited %s, want %s to %s", got.Waited, test.min, test.max)
				}
			})
		})
	}
}

// after frees the lock, or does something else, once the time is up.
func after(d time.Duration, do func(*api)) func(string, *api) error {
	end := time.Time{}
	return func(_ string, a *api) error {
		if end.IsZero() {
			end = time.Now().Add(d)
		}
		if !time.Now().Before(end) {
			do(a)
		}
		return nil
	}
}

func TestWaitFreePollsEverMoreSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []time.Duration
		start := time.Now()
		a := &api{lease: held(lockID, podName), before: func(string, *api) error {
			looks = append(looks, time.Since(start))
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		if _, err := lock.WaitFree(ctx, a, leaseName, lock.Poll{}); err == nil {
			t.Fatal("a lock that is held became free")
		}
		if first := looks[1] - looks[0]; first < 800*time.Millisecond || first > 1200*time.Millisecond {
			t.Errorf("second look after %s", first)
		}
		even := true
		for i := 8; i < len(looks); i++ {
			gap := looks[i] - looks[i-1]
			if gap < 4*time.Second || gap > 6*time.Second {
				t.Errorf("look %d after %s", i, gap)
			}
			even = even && gap == looks[8]-looks[7]
		}
		if even {
			t.Error("no jitter")
		}
		if n := len(looks); n < 200 {
			t.Errorf("%d looks in 20 minutes", n)
		}
	})
}

func TestWaitFreeGivesUp(t *testing.T) {
	refused := errors.New("connection refused")
	tests := map[string]struct {
		before func(verb string, a *api) error
		is     error
		text   string
		holder string
	}{
		"still held":       {nil, context.DeadlineExceeded, "held by nonroot@" + podName, lockID},
		"never any answer": {func(string, *api) error { return refused }, refused, "connection refused", ""},
		"an answer only at first": {func(_ string, a *api) error {
			if len(a.requests) > 1 {
				return refused
			}
			return nil
		}, refused, "connection refused", lockID},
		"look cut short": {after(time.Second, func(*api) { time.Sleep(time.Hour) }), context.DeadlineExceeded, "held by nonroot@", lockID},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				a := &cutShort{api{lease: held(lockID, podName), before: test.before}}
				got, err := lock.WaitFree(ctx, a, leaseName, lock.Poll{})
				if !errors.Is(err, test.is) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("error %v, want %q in it", err, test.text)
				}
				if got.Holder.ID != test.holder || got.Waited < 30*time.Second {
					t.Errorf("wait %+v", got)
				}
			})
		})
	}
}

// cutShort answers a look that outlasted its context with the context's error, as a client does.
type cutShort struct{ api }

func (c *cutShort) Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error) {
	got, err := c.api.Get(ctx, name, opts)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return got, err
}

func TestWaitFreeEndsWhenForbidden(t *testing.T) {
	a := &api{lease: held(lockID, podName), before: func(verb string, _ *api) error { return forbidden(verb) }}
	_, err := lock.WaitFree(t.Context(), a, leaseName, lock.Poll{})
	if !apierrors.IsForbidden(err) || len(a.requests) != 1 || strings.Contains(err.Error(), "%!") {
		t.Errorf("error %v after %v", err, a.requests)
	}
	a = &api{lease: held(lockID, podName), before: func(verb string, a *api) error {
		if len(a.requests) > 1 {
			return forbidden(verb)
		}
		return nil
	}}
	got, err := lock.WaitFree(t.Context(), a, leaseName, lock.Poll{First: time.Millisecond})
	if !apierrors.IsForbidden(err) || got.Holder.ID != lockID {
		t.Errorf("error %v, holder %q, want the last that was seen", err, got.Holder.ID)
	}
}

// A context that has ended before the first look is the reason, and there is no other.
func TestWaitFreeAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lock.WaitFree(ctx, &cutShort{api{lease: held(lockID, podName)}}, leaseName, lock.Poll{})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "%!") {
		t.Errorf("got %v", err)
	}
}

func TestWaitFreePollsAsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{lease: held(lockID, podName)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := lock.WaitFree(ctx, a, leaseName, lock.Poll{First: 10 * time.Millisecond, Max: 100 * time.Millisecond}); err == nil {
			t.Fatal("a lock that is held became free")
		}
		if n := len(a.requests); n < 500 || n > 1000 {
			t.Errorf("%d looks in a minute, want one about every 100 ms", n)
		}
	})
}
