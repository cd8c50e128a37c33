package launch

import (
	"errors"
	"net/http"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/captf/captf-runner/internal/kubetest"
)

// errDead is what a launcher's requests come to after its death.
var errDead = errors.New("this launcher is dead")

// mortal is a transport that counts its requests and dies after some of them. A death between two requests cannot be
// had from a real server.
type mortal struct {
	next http.RoundTripper

	mu    sync.Mutex
	count int
	lives int  // how many requests it makes
	mute  bool // the last one is carried out, and its answer lost
	calls []string
	// before is called before each request.
	before func(*http.Request)
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.count++
	left := m.lives - m.count
	m.calls = append(m.calls, r.Method+" "+r.URL.Path)
	m.mu.Unlock()
	if m.before != nil {
		m.before(r)
	}
	if left < 0 {
		return nil, errDead
	}
	answer, err := m.next.RoundTrip(r)
	if left == 0 && m.mute && err == nil {
		_ = answer.Body.Close()
		return nil, errDead
	}
	return answer, err
}

func (m *mortal) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count >= m.lives
}

// newMortal returns a client that dies after so many requests. All share the connections of one transport.
func newMortal(t testing.TB, lives int, mute bool) (*mortal, kubernetes.Interface) {
	t.Helper()
	config := kubetest.Shared(t).Config()
	m := &mortal{next: sharedTransport(t, config), lives: lives, mute: mute}
	client, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: m})
	if err != nil {
		t.Fatal(err)
	}
	return m, client
}

// sharedTransport is cached by client-go for equal configurations.
func sharedTransport(t testing.TB, config *rest.Config) http.RoundTripper {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}
