package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
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

// watched is a step that begins now and waits for its lock, for tests in which the clock is the test's.
func watched(t *testing.T, keeper lockKeeper, work func() runtime.Work) (context.Context, *overdueWait, *given) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	start, g, r := time.Now(), &given{}, &run{stop: runtime.NewStop(time.Minute), keeper: keeper}
	out := &sink{opening: func() {}}
	out.waitLine(true)
	out.opens()
	return ctx, &overdueWait{
		log: slog.New(slog.DiscardHandler), out: out, since: start, work: work, holder: r.seeHolder,
		giveUp: func(err error) { g.after, g.why = time.Since(start), err; cancel(err) },
	}, g
}

// given is when and why a step was given up.
type given struct {
	after time.Duration
	why   error
}

// The processes of a step, by what they do.
var (
	waits   = growing(func(int64) runtime.Work { return runtime.Work{7: {Bytes: 1 << 20, CPU: time.Second}} })
	unseen  = growing(func(int64) runtime.Work { return nil })
	reads   = growing(func(n int64) runtime.Work { return runtime.Work{7: {Bytes: n << 20}} })
	counts  = growing(func(n int64) runtime.Work { return runtime.Work{7: {CPU: time.Duration(n) * 5 * time.Second}} })
	pings   = growing(func(n int64) runtime.Work { return runtime.Work{7: {Bytes: n << 8}} })
	started = growing(func(int64) runtime.Work { return runtime.Work{7: {}, 8: {Plugin: true}} })
)

// growing makes, for each test, the work of each look from its number.
func growing(work func(n int64) runtime.Work) func() func() runtime.Work {
	return func() func() runtime.Work {
		var n atomic.Int64
		return func() runtime.Work { return work(n.Add(1)) }
	}
}

func TestOverdueWait(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const limit = 10 * time.Second
	free, noLook := &heldBy{}, &heldBy{err: errors.New("no answer")}
	held := func(who string, created time.Duration) func() lockKeeper {
		return func() lockKeeper {
			return &heldBy{holder: &lock.Info{ID: "x", Who: "root@" + who, Created: time.Now().Add(created)}}
		}
	}
	is := func(k lockKeeper) func() lockKeeper { return func() lockKeeper { return k } }
	tests := []struct {
		name   string
		keeper func() lockKeeper
		work   func() func() runtime.Work
		want   given
	}{
		{"another holds it", held("elsewhere", time.Second), waits, given{limit, errOverdue}},
		{"an older run on this host holds it", held(host, -time.Hour), waits, given{limit, errOverdue}},
		{"the step has it, and no answer", held(host, time.Second), waits, given{limit + unansweredTime, errUnanswered}},
		{"the step has it, and its provider runs", held(host, time.Second), started, given{}},
		{"the step was robbed while its provider runs", held("elsewhere", time.Second), started, given{}},
		{"the step has it, and reads its state", held(host, time.Second), reads, given{}},
		{"the step has it, and calculates", held(host, time.Second), counts, given{}},
		{"it is free", is(free), waits, given{limit + unansweredTime, errUnanswered}},
		{"it is free, and the connection is kept alive", is(free), pings, given{limit + unansweredTime, errUnanswered}},
		{"it is free, and much is read", is(free), reads, given{}},
		{"nobody can look", is(nil), waits, given{limit + unansweredTime, errUnanswered}},
		{"nobody can look, and a provider runs", is(nil), started, given{}},
		{"the look fails", is(noLook), waits, given{limit + unansweredTime, errUnanswered}},
		{"nobody can see the processes", is(noLook), unseen, given{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, w, got := watched(t, tt.keeper(), tt.work())
				w.begin(ctx, limit)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if *got != tt.want {
					t.Errorf("given up %+v, want %+v", *got, tt.want)
				}
				w.end()
				synctest.Wait()
			})
		})
	}
}

// A step that goes on, or is over, is not given up; one whose wait begins later has its time from then on.
func TestOverdueWaitThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w, got := watched(t, nil, waits())
		w.begin(ctx, time.Second)
		time.Sleep(2 * time.Second) // one look was made
		w.begin(ctx, time.Minute)
		time.Sleep(time.Minute + unansweredTime - time.Second)
		w.out.opened()
		time.Sleep(2 * unansweredTime)
		if got.why != nil {
			t.Errorf("given up after %s: %v", got.after, got.why)
		}
	})
}

// An init waits for no lock of another, unless it says so.
func TestOverdueInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w, got := watched(t, &heldBy{holder: &lock.Info{ID: "x", Who: "root@elsewhere"}}, waits())
		w.out.waitLine(false)
		w.begin(ctx, time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := (given{time.Second + unansweredTime, errUnanswered}); *got != want {
			t.Errorf("given up %+v, want %+v", *got, want)
		}
	})
}
