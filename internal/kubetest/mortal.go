package kubetest

import (
	"errors"
	"net/http"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ErrDead is what a client's requests come to after its death.
var ErrDead = errors.New("this client is dead")

// Mortal is the transport of a client that dies after some requests, and remembers them. A death between two requests
// of a process cannot be had from a real server.
type Mortal struct {
	// Mute says that the last request is carried out, and its answer lost.
	Mute bool
	// Before is called before each request; nil for nothing.
	Before func(*http.Request)
	// Spoil may answer a request in the server's place, or change what ask brings from there; nil spoils nothing.
	Spoil func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error)

	next  http.RoundTripper
	mu    sync.Mutex
	lives int
	calls []string
}

// NewMortal returns a client that makes so many requests. All clients of equal configurations share their connections.
func NewMortal(config *rest.Config, lives int) (*Mortal, *kubernetes.Clientset, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, nil, err
	}
	m := &Mortal{next: transport, lives: lives}
	client, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: m})
	return m, client, err
}

// RoundTrip implements http.RoundTripper.
func (m *Mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.calls = append(m.calls, r.Method+" "+r.URL.Path)
	left := m.lives - len(m.calls)
	m.mu.Unlock()
	if m.Before != nil {
		m.Before(r)
	}
	if left < 0 {
		return nil, ErrDead
	}
	answer, err := m.ask(r)
	if left == 0 && m.Mute && err == nil {
		_ = answer.Body.Close()
		return nil, ErrDead
	}
	return answer, err
}

func (m *Mortal) ask(r *http.Request) (*http.Response, error) {
	ask := func() (*http.Response, error) { return m.next.RoundTrip(r) }
	if m.Spoil == nil {
		return ask()
	}
	return m.Spoil(r, ask)
}

// Dead reports whether there is no other request in it.
func (m *Mortal) Dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls) >= m.lives
}

// Calls are the requests so far, as METHOD PATH.
func (m *Mortal) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.calls...)
}
