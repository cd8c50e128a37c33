package e2e

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// gate stands between a run and where its state is kept, and does harm to the requests that a test chooses.
type gate struct {
	mu     sync.Mutex
	harm   func(*http.Request) fate
	closed chan struct{} // the test is over
}

// fate is what becomes of a request.
type fate int

const (
	passes   fate = iota
	fails         // 500, a fault that may pass
	denied        // 403, a refusal for good
	tooLarge      // 413
	hangs         // no answer ever
	cut           // the connection breaks
)

func newGate(t *testing.T) *gate {
	g := &gate{closed: make(chan struct{})}
	return g
}

// harms says what becomes of each request from now on; nil lets all of them pass.
func (g *gate) harms(harm func(*http.Request) fate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.harm = harm
}

// fate decides about one request.
func (g *gate) fate(r *http.Request) fate {
	g.mu.Lock()
	harm := g.harm
	g.mu.Unlock()
	if harm == nil {
		return passes
	}
	return harm(r)
}

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch g.fate(r) {
		case passes:
			next.ServeHTTP(w, r)
		case fails:
			http.Error(w, "broken on demand", http.StatusInternalServerError)
		case denied:
			http.Error(w, "refused on demand", http.StatusForbidden)
		case tooLarge:
			http.Error(w, "too large on demand", http.StatusRequestEntityTooLarge)
		case cut:
			panic(http.ErrAbortHandler)
		case hangs:
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees a client that is gone
			select {
			case <-r.Context().Done():
			case <-g.closed:
			}
		}
	})
}

// gated is a fixture on a statesrv behind a gate.
func gated(t *testing.T, runtime tools.Runtime) (*fixture, *gate) {
	t.Helper()
	g := newGate(t)
	f := newFixture(t, runtime, func(t *testing.T, f *fixture) backend { return asked{serve(t, f, g.wrap)} })
	t.Cleanup(func() { close(g.closed) }) // before the server waits for its requests
	return f, g
}

// The requests of the http backend and of the runner's look at the lock.
func writesState(r *http.Request) bool { return r.Method == http.MethodPost }
func readsState(r *http.Request) bool {
	return r.Method == http.MethodGet && !looksAtLock(r)
}
func looksAtLock(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/lock")
}
func everything(*http.Request) bool { return true }

// when gives the requests that match a fate, and lets the others pass.
func when(matches func(*http.Request) bool, f fate) func(*http.Request) fate {
	return func(r *http.Request) fate {
		if matches(r) {
			return f
		}
		return passes
	}
}
