package runner

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// held is a lockKeeper whose lock has this holder. When another takes a lock away to the millisecond is nothing that
// real programs can be made to do.
type held struct {
	lockKeeper
	info lock.Info
}

func (h held) Holder(context.Context) (*lock.Info, error) { return &h.info, nil }

func (h held) Release(context.Context, string) (lock.Unlock, error) {
	return lock.Unlock{Outcome: lock.Released}, nil
}

// After the end of its child, a run releases only a lock that no other process can have made.
func TestLeftLock(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for name, tt := range map[string]struct {
		host    string
		created time.Time
		change  func(*run)
		want    bool
	}{
		"its own":                         {host, at(time.Second), nil, true},
		"another host's":                  {"other", at(time.Second), nil, false},
		"made before the child":           {host, at(-time.Second), nil, false},
		"made when the child had it":      {host, at(3 * time.Second), nil, false},
		"the child released it":           {host, at(time.Second), func(r *run) { r.child.leftLock = false }, false},
		"a process of the child may live": {host, at(time.Second), func(r *run) { r.child.gone = false }, false},
		"the child never had it":          {host, at(time.Second), func(r *run) { r.child.lockedAt = time.Time{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			info := lock.Info{ID: "id-1", Who: "me@" + tt.host, Created: tt.created}
			r := &run{
				log: slog.New(slog.DiscardHandler), stop: runtime.NewStop(time.Minute), keeper: held{info: info},
				report: report{Result: &result.Result{Lock: &result.Lock{}}}, child: child{start: start, lockedAt: at(2 * time.Second), gone: true, leftLock: true},
			}
			if tt.change != nil {
				tt.change(r)
			}
			r.releaseOwnLock(t.Context())
			if l := r.report.Lock; l.Released != tt.want || (l.ID == "id-1") != tt.want {
				t.Errorf("lock = %+v, want it released: %v", l, tt.want)
			}
		})
	}
}
