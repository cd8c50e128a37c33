package statesrv_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// big is a state of at least n bytes.
func big(n int) string {
	return strings.Replace(doc(1, "l"), "[]", `["`+strings.Repeat("x", n)+`"]`, 1)
}

// A body whose length is not told beforehand is limited as well. It fits into one packet: a server that refuses it
// leaves nothing unread, for which the client could get a reset instead of the answer.
func TestChunkedBodies(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{MaxBody: 2000}))
	defer server.Close()
	for body, want := range map[string]int{big(1500): 200, big(2000): 413} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/states/s", io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", len(body), resp.StatusCode, want)
		}
	}
}

// A length that is too much is refused before the body is there.
func TestTooLongByItsHeader(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /states/s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", int64(1)<<40)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", resp.StatusCode)
	}
}

// A body that ends too early is no state.
func TestACutBody(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /states/s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n%s", doc(1, "l"))
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", resp.StatusCode)
	}
	if _, err := read(states.Read(t.Context(), "s")); statusOf(err) != 404 {
		t.Errorf("after it: %v, want no state", err)
	}
}

// Damaged bytes are a 500 while nothing has been sent, and a cut connection when
// some have: never a whole answer.
func TestDamagedBytesOverHTTP(t *testing.T) {
	path := t.TempDir()
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
	defer server.Close()
	for name, n := range map[string]int{"small": 10, "big": 1 << 20} {
		mustWrite(t, states, name, "", big(n))
		writes("versions/000001.tfstate", strings.Replace(big(n), "x", "y", 1))(t, filepath.Join(path, name))
	}
	small, _ := send(t, server.URL+"/states/small", "GET", "", nil)
	if small.StatusCode != http.StatusInternalServerError || small.Header.Get("Content-Type") == "application/json" {
		t.Errorf("small: %s, %v", small.Status, small.Header)
	}
	resp, err := http.Get(server.URL + "/states/big")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("big: %d bytes, %v, want the connection cut", n, err)
	}
}

// shrunk gives fewer bytes than it says, as a file that is cut while it is read.
type shrunk struct{ store.Store }

func (s shrunk) Open(ctx context.Context, key string) (store.Body, error) {
	body, err := store.Open(ctx, s.Store, key)
	body.ReadCloser = io.NopCloser(io.LimitReader(body.ReadCloser, body.Size/2))
	return body, err
}

func TestBytesThatEndTooEarly(t *testing.T) {
	states := statesrv.NewStates(shrunk{memory.New()}, statesrv.Rules{})
	mustWrite(t, states, "s", "", doc(1, "l"))
	if got, err := read(states.Read(t.Context(), "s")); !errors.Is(err, statesrv.ErrDamaged) {
		t.Errorf("read gives %q, %v, want ErrDamaged", got, err)
	}
}

// The memory of a GET does not depend on the size of the state.
func TestReadingAllocatesLittle(t *testing.T) {
	const size = 32 << 20
	states := statesrv.NewStates(openDir(t, t.TempDir()), statesrv.Rules{})
	mustWrite(t, states, "s", "", big(size))
	handler := statesrv.NewHandler(states, statesrv.HandlerOptions{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := &counter{header: http.Header{}}
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/states/s", nil))
	runtime.ReadMemStats(&after)
	if w.n < size {
		t.Fatalf("got %d bytes", w.n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("reading %d bytes allocated %d", size, used)
	}
}

// counter is an http.ResponseWriter that keeps nothing.
type counter struct {
	header http.Header
	n      int
}

func (c *counter) Header() http.Header         { return c.header }
func (c *counter) WriteHeader(int)             {}
func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

// Serve lets a request finish that is under way when it is told to stop.
func TestServeFinishesWhatIsUnderWay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	entered := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // longer than Serve needs to close
		fmt.Fprint(w, "done")
	})
	served := make(chan error, 1)
	go func() { served <- statesrv.Serve(ctx, l, handler, nil) }()
	go func() { <-entered; stop() }()
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); string(data) != "done" {
		t.Errorf("answer %q, %v", data, err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// TestServeCutsOffWhatDoesNotEnd: a client that hangs does not make a failure of the server's end.
func TestServeCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	})
	var log bytes.Buffer
	served := make(chan error, 1)
	go func() { served <- statesrv.Serve(ctx, l, hang, slog.New(slog.NewTextHandler(&log, nil))) }()
	if resp, err := http.Get("http://" + l.Addr().String()); err == nil {
		resp.Body.Close()
		t.Errorf("a request that does not end: %s, want none", resp.Status)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if !strings.Contains(log.String(), "cut off") {
		t.Errorf("the log says %q", &log)
	}
}
