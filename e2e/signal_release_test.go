package e2e

import (
	"io"
	"net/http"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestStopDuringRelease tells a run to stop at the moment when it gives back the lock that its killed child has left:
// it has the time for that.
func TestStopDuringRelease(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		asked, open := make(chan struct{}), make(chan struct{})
		wrap := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "UNLOCK" {
					close(asked)
					<-open
				}
				if r.Context().Err() == nil { // a proxy hands on nothing of a client that is gone
					next.ServeHTTP(w, r)
				}
			})
		}
		f := newFixture(t, runtime, func(t *testing.T, f *fixture) backend { return serve(t, f, wrap) })
		f.slowSecond(t, "5m")
		l := f.start(t, "apply")
		l.says(t, creatingSecond)
		l.child(t, "apply").kill(t)
		<-asked
		l.signal(t, syscall.SIGTERM)
		l.says(t, "asked to stop")
		close(open)
		o := l.finish(t)
		if id := f.backend.holder(t); id != "" {
			t.Errorf("lock %s is still held\n%s", id, o)
		}
		if !o.result.Lock.Released {
			t.Errorf("lock = %+v, want it released\n%s", o.result.Lock, o)
		}
	})
}

// TestStopDuringForceUnlock tells a run to stop while the server does not answer its force-unlock: that is an
// interrupted run, no failed one, and the next one is handed the same ID.
func TestStopDuringForceUnlock(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		asked := make(chan struct{})
		wrap := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "UNLOCK" && r.URL.Query().Get("ID") == staleID {
					close(asked)
					_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that its client has gone
					<-r.Context().Done()
					return
				}
				next.ServeHTTP(w, r)
			})
		}
		f := newFixture(t, runtime, func(t *testing.T, f *fixture) backend { return serve(t, f, wrap) })
		f.must(t, 0, "apply")
		f.backend.hold(t, staleID, "runner@gone")
		l := f.start(t, "refresh", "--force-unlock", staleID)
		<-asked
		l.signal(t, syscall.SIGTERM)
		o := l.finish(t)
		if e := o.result.Error; o.code != result.ExitRetry || e == nil || e.Kind != result.KindInterrupted || e.Step != "force-unlock" {
			t.Errorf("exit code %d, error %+v; want an interrupted force-unlock\n%s", o.code, e, o)
		}
	})
}
