package torture

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"testing"
)

// match tells the request that a run is to be held at.
type match func(r *http.Request, body []byte) bool

// proxy stands in front of a state server or an API server. It holds a run at the first request that a test waits
// for, and plays the faults of a server.
type proxy struct {
	target  *httputil.ReverseProxy
	address string
	arrive  bool         // whatever was sent does
	sent    atomic.Int32 // requests on their way
	late    bool         // what was held goes on to the server though its client is gone

	tls         *tls.Config // nil: plain HTTP
	certificate *x509.Certificate

	mu     sync.Mutex
	server *http.Server
	gate   *gate
	holds  match
	answer func(http.ResponseWriter, *http.Request) // in place of the server's
}

// newProxy starts one, with a certificate if it is to have one.
func newProxy(t *testing.T, target *httputil.ReverseProxy, certified bool) *proxy {
	t.Helper()
	p := &proxy{address: "127.0.0.1:0", target: target}
	p.target.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	if certified {
		s := httptest.NewTLSServer(http.NotFoundHandler())
		s.Close()
		p.tls, p.certificate = &tls.Config{Certificates: s.TLS.Certificates}, s.Certificate()
	}
	p.up(t)
	t.Cleanup(func() {
		p.heal()
		p.down()
	})
	return p
}

// url is where the proxy is reached.
func (p *proxy) url() string {
	if p.tls != nil {
		return "https://" + p.address
	}
	return "http://" + p.address
}

// up listens, always on the same port.
func (p *proxy) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	if p.tls != nil {
		listener = tls.NewListener(listener, p.tls)
	}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	go func(s *http.Server) { _ = s.Serve(listener) }(p.server)
}

// down resets every connection, and refuses new ones.
func (p *proxy) down() { _ = p.server.Close() }

// hold stops the run at the first request that matches.
func (p *proxy) hold(holds match) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate, p.holds = newGate(), holds
	return p.gate
}

// play answers every request from now on in place of the server.
func (p *proxy) play(answer func(http.ResponseWriter, *http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// heal lets the server answer again.
func (p *proxy) heal() { p.play(nil) }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.sent.Add(1)
	defer p.sent.Add(-1)
	if p.arrive {
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	if g := p.take(r, body); g != nil {
		defer close(g.answered)
		g.stay()
		if p.late {
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
	}
	if answer := p.answering(); answer != nil {
		answer(w, r)
		return
	}
	p.target.ServeHTTP(w, r)
}

// take is the gate for the request, once.
func (p *proxy) take(r *http.Request, body []byte) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.gate
	if g == nil || !p.holds(r, body) {
		return nil
	}
	p.gate = nil
	return g
}

func (p *proxy) answering() func(http.ResponseWriter, *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answer
}

// fails is a server that is out of order.
func fails(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "out of order", http.StatusInternalServerError)
}

// hangs is a server that never answers.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
