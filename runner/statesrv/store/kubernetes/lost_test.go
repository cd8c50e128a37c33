package kubernetes

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// lossy is a proxy before a real API server that loses answers to writes.
type lossy struct {
	*httputil.ReverseProxy
	lose atomic.Int64 // how many answers are lost
	cut  atomic.Bool  // the connection is cut, else the answer is 503
	sent atomic.Int64 // writes that reached the server
	read atomic.Int64 // requests that were no writes
}

func newLossy(t *testing.T, server *kubetest.Server) (*lossy, kube.Config) {
	t.Helper()
	target, err := url.Parse(server.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{ReverseProxy: httputil.NewSingleHostReverseProxy(target)}
	l.Transport = transport
	front := httptest.NewServer(l)
	t.Cleanup(front.Close)
	return l, kube.Config{Host: front.URL}
}

func (l *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		l.read.Add(1)
		l.ReverseProxy.ServeHTTP(w, r)
		return
	}
	l.sent.Add(1)
	if l.lose.Add(-1) < 0 {
		l.ReverseProxy.ServeHTTP(w, r)
		return
	}
	l.ReverseProxy.ServeHTTP(httptest.NewRecorder(), r)
	if l.cut.Load() {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

// A write that was done and whose answer was lost is a success, however it was lost;
// one that another writer has won meanwhile is not.
func TestLostAnswers(t *testing.T) {
	server := kubetest.Shared(t)
	l, cluster := newLossy(t, server)
	s, err := Open(Options{Namespace: server.Namespace(t), Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []bool{false, true} {
		l.cut.Store(cut)
		key := map[bool]string{false: "busy", true: "cut"}[cut]
		l.lose.Store(1)
		rev, err := s.Create(t.Context(), key, []byte("one"))
		if err != nil {
			t.Errorf("%s: create: %v", key, err)
		}
		l.lose.Store(1)
		next, err := s.Swap(t.Context(), key, rev, []byte("two"))
		if err != nil {
			t.Errorf("%s: swap: %v", key, err)
		}
		if rec, err := s.Get(t.Context(), key); err != nil || string(rec.Data) != "two" || rec.Revision != next {
			t.Errorf("%s: %q at %s, %v; want two at %s", key, rec.Data, rec.Revision, err, next)
		}
		l.lose.Store(1)
		if _, err := s.Create(t.Context(), key, []byte("two")); !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrExists) {
			t.Errorf("%s: create of what another has made: %v", key, err)
		}
		l.lose.Store(1)
		if _, err := s.Swap(t.Context(), key, rev, []byte("two")); !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: stale swap of equal bytes: %v", key, err)
		}
	}
	if l.sent.Load() == 0 {
		t.Error("nothing went through the proxy")
	}
}

// Without an answer nobody knows whether the namespace, and with it a state, is going.
func TestPresentWithoutAnAnswer(t *testing.T) {
	server := kubetest.Shared(t)
	l, cluster := newLossy(t, server)
	s, err := Open(Options{Namespace: server.Namespace(t), Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, cut := range []bool{false, true} {
		l.cut.Store(cut)
		l.lose.Store(1000)
		if err := s.Present(t.Context()); err == nil {
			t.Errorf("cut %v: the place is taken for present", cut)
		}
		l.lose.Store(0)
		if err := s.Present(t.Context()); err != nil {
			t.Errorf("cut %v: %v", cut, err)
		}
	}
}
