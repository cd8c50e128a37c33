package statesrv_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// watched tells when the handler begins to read a body.
type watched struct {
	io.ReadCloser
	begun chan struct{}
	once  sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	return w.ReadCloser.Read(p)
}

// serveWatched serves states and tells when a POST's body is begun to be read.
func serveWatched(t *testing.T, states *statesrv.States) (*httptest.Server, <-chan struct{}) {
	handler, begun := statesrv.NewHandler(states, statesrv.HandlerOptions{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			r.Body = &watched{ReadCloser: r.Body, begun: begun}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, begun
}

// 86: an unlock that comes while the last write is still under way comes second.
func TestUnlockWaitsForTheUpload(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server, begun := serveWatched(t, states)
	mustLock(t, states, "s", lockA)

	whole := doc(1, "l")
	body, pour := io.Pipe()
	written := status(t, "POST", server.URL+"/states/s?ID=a", body)
	<-begun
	unlocked := status(t, "UNLOCK", server.URL+"/states/s", strings.NewReader(lockA))
	select {
	case code := <-unlocked:
		t.Fatalf("unlock answered %d before the write was complete", code)
	case <-time.After(50 * time.Millisecond): // enough for an unlock that does not wait
	}
	if _, err := io.WriteString(pour, whole); err != nil {
		t.Fatal(err)
	}
	pour.Close()
	if w, u := <-written, <-unlocked; w != 200 || u != 200 {
		t.Errorf("write %d, unlock %d, want 200 and 200", w, u)
	}
	if got, err := read(states.Read(t.Context(), "s")); got != whole {
		t.Errorf("state is %q, %v", got, err)
	}
	if held, err := states.Holder(t.Context(), "s"); held != nil {
		t.Errorf("still held: %v, %v", held, err)
	}
}

// status sends a request and gives its status when it is answered, 0 if never.
func status(t *testing.T, method, url string, body io.Reader) <-chan int {
	code := make(chan int, 1)
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			code <- 0
			return
		}
		resp.Body.Close()
		code <- resp.StatusCode
	}()
	return code
}

// Whoever knows only the ID is not the client that writes, and does not wait. The second
// record is what OpenTofu sends.
func TestForceUnlockDoesNotWait(t *testing.T) {
	for _, record := range []string{`{"ID":"a"}`, tofuForceUnlock} {
		states := statesrv.NewStates(memory.New(), statesrv.Rules{})
		server, begun := serveWatched(t, states)
		mustLock(t, states, "s", lockA)
		body, pour := io.Pipe()
		written := status(t, "POST", server.URL+"/states/s?ID=a", body)
		<-begun
		select {
		case code := <-status(t, "UNLOCK", server.URL+"/states/s", strings.NewReader(record)):
			if code != 200 {
				t.Errorf("%s: force-unlock %d, want 200", record, code)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: it waits for the write", record)
		}
		if _, err := io.WriteString(pour, doc(1, "l")); err != nil {
			t.Fatal(err)
		}
		pour.Close()
		if code := <-written; code != 409 {
			t.Errorf("%s: late write %d, want 409", record, code)
		}
	}
}

const tofuForceUnlock = `{"ID":"a","Operation":"","Info":"","Who":"","Version":"","Created":"0001-01-01T00:00:00Z","Path":""}`
