package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
	"github.com/captf/captf-runner/runner/statesrv/web"
)

// A state that would take the server's memory is not compared.
func TestDiffOfLargeStates(t *testing.T) {
	p := start(t, false)
	p.write("large", 1, `"a"`)
	p.write("large", 2, `"`+strings.Repeat("a", 16<<20)+`"`)
	res, body := p.ask("anna", "GET", "/web/states/large/diff?a=1&b=2", "", nil)
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "statesrv diff ADDRESS 1 2") {
		t.Errorf("%d, want 422 and the command that compares: %.2000s", res.StatusCode, body)
	}
}

// What is encrypted is not compared, so nothing is said to be the same.
func TestDiffOfEncryptedStates(t *testing.T) {
	p := start(t, false)
	for serial := 1; serial <= 2; serial++ {
		body := fmt.Appendf(nil, `{"serial":%d,"lineage":"l","meta":{},"encrypted_data":"AA==","encryption_version":"v0"}`, serial)
		if _, err := p.states.Write(t.Context(), "s", statesrv.WriteRequest{Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	_, body := p.ask("anna", "GET", "/web/states/s/diff?a=1&b=2", "", nil)
	if !strings.Contains(body, "OpenTofu encrypted both") || strings.Contains(body, "are the same") {
		t.Errorf("want only that they are encrypted: %.3000s", body)
	}
}

// gate is a store whose bodies are opened only when the test lets them.
type gate struct {
	store.Store
	entered chan string // the keys that are asked for
	open    chan struct{}
}

func (g *gate) Get(ctx context.Context, key string) (store.Record, error) {
	if strings.HasSuffix(key, ".tfstate") {
		g.entered <- key
		<-g.open
	}
	return g.Store.Get(context.WithoutCancel(ctx), key) // so that only the comparison can notice
}

// Of several comparisons one is under way, and the others do not outlive their
// clients. The store is made up: no real one waits until it is told to go on.
func TestDiffsAreMadeOneByOne(t *testing.T) {
	g := &gate{Store: memory.New(), entered: make(chan string, 100), open: make(chan struct{})}
	states := statesrv.NewStates(g, statesrv.Rules{})
	p := page{t: t, states: states}
	p.write("s", 1, `"a"`)
	p.write("s", 2, `"b"`)
	handler := web.New(states, web.Options{})
	ask := func(ctx context.Context) <-chan int {
		status := make(chan int, 1)
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/web/states/s/diff?a=1&b=2", nil))
			status <- w.Code
		}()
		return status
	}
	ctx, cancelFirst := context.WithCancel(t.Context())
	first := ask(ctx)
	<-g.entered
	for range 20 { // for a free turn is taken now and then, although the client is gone
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		select {
		case status := <-ask(ctx):
			if status != http.StatusServiceUnavailable {
				t.Errorf("one that waits, whose client goes away, is answered %d, want 503", status)
			}
		case key := <-g.entered:
			t.Fatalf("a second comparison is under way: it reads %s", key)
		}
	}
	cancelFirst()
	close(g.open)
	if status := <-first; status != http.StatusServiceUnavailable {
		t.Errorf("the first, whose client has gone away, is answered %d, want 503", status)
	}
}
