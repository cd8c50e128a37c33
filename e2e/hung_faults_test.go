package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// faults stands between a run and where its state is kept, and does harm to the requests that a test chooses.
type faults struct {
	mu     sync.Mutex
	harm   func(*http.Request) fate
	closed chan struct{} // the test is over
}

// fate is what becomes of a request.
type fate int

const (
	passes     fate = iota
	fails           // 500, a fault that may pass
	denied          // 403, a refusal for good
	tooLarge        // 413
	hangs           // no answer ever
	cut             // the connection breaks
	unheard         // the server does it, and its answer is lost in a proxy, which says 502
	unanswered      // the server does it, and no answer ever comes
)

// harms says what becomes of each request from now on; nil lets all of them pass.
func (h *faults) harms(harm func(*http.Request) fate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.harm = harm
}

// fate decides about one request.
func (h *faults) fate(r *http.Request) fate {
	h.mu.Lock()
	harm := h.harm
	h.mu.Unlock()
	if harm == nil {
		return passes
	}
	return harm(r)
}

func (h *faults) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch h.fate(r) {
		case passes:
			next.ServeHTTP(w, r)
		case fails:
			http.Error(w, "broken on demand", http.StatusInternalServerError)
		case denied:
			http.Error(w, "refused on demand", http.StatusForbidden)
		case tooLarge:
			http.Error(w, "too large on demand", http.StatusRequestEntityTooLarge)
		case unheard:
			next.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "bad gateway", http.StatusBadGateway)
		case cut:
			panic(http.ErrAbortHandler)
		case hangs:
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees a client that is gone
			h.stall(r)
		case unanswered:
			next.ServeHTTP(httptest.NewRecorder(), r)
			h.stall(r)
		}
	})
}

// stall keeps a client waiting for as long as it likes.
func (h *faults) stall(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-h.closed:
	}
}

// faulty is a fixture on a statesrv with faults.
func faulty(t *testing.T, runtime tools.Runtime) (*fixture, *faults) {
	t.Helper()
	h := &faults{closed: make(chan struct{})}
	f := newFixture(t, runtime, func(t *testing.T, f *fixture) backend { return asked{serve(t, f, h.wrap)} })
	t.Cleanup(func() { close(h.closed) }) // before the server waits for its requests
	return f, h
}

// The requests of the http backend and of the runner's look at the lock.
func takesLock(r *http.Request) bool   { return r.Method == "LOCK" }
func writesState(r *http.Request) bool { return r.Method == http.MethodPost }
func readsState(r *http.Request) bool {
	return r.Method == http.MethodGet && !looksAtLock(r)
}
func looksAtLock(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/lock")
}
func writesLease(r *http.Request) bool { return about("leases")(r) && r.Method != http.MethodGet }
func everything(*http.Request) bool    { return true }

// when gives the requests that match a fate, and lets the others pass.
func when(matches func(*http.Request) bool, f fate) func(*http.Request) fate {
	return func(r *http.Request) fate {
		if matches(r) {
			return f
		}
		return passes
	}
}

// nth gives the nth of the requests that match a fate, and lets the others pass.
func nth(n int32, matches func(*http.Request) bool, f fate) func(*http.Request) fate {
	var seen atomic.Int32
	return func(r *http.Request) fate {
		if matches(r) && seen.Add(1) == n {
			return f
		}
		return passes
	}
}

// afterThat gives the requests that match a fate, once there was one of the first kind, and lets the others pass.
func afterThat(first, matches func(*http.Request) bool, f fate) func(*http.Request) fate {
	var seen atomic.Bool
	return func(r *http.Request) fate {
		if first(r) {
			seen.Store(true)
		} else if seen.Load() && matches(r) {
			return f
		}
		return passes
	}
}

// either matches what one of two does.
func either(a, b func(*http.Request) bool) func(*http.Request) bool {
	return func(r *http.Request) bool { return a(r) || b(r) }
}
