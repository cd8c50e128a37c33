package statesrv_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// serveReal serves states with the timeouts of a server on a network.
func serveReal(t *testing.T, states *statesrv.States, opts statesrv.HandlerOptions) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- statesrv.Serve(ctx, l, statesrv.NewHandler(states, opts), nil) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return l.Addr().String()
}

// TestHostileRequests sends every method to every kind of path, with every kind of
// query, body and header. No answer is a fault, each error says why, and the state
// that somebody has locked stays as it is.
func TestHostileRequests(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	mustLock(t, states, "kept", lockA)
	mustWrite(t, states, "kept", "a", doc(1, "l"))
	url := "http://" + serveReal(t, states, statesrv.HandlerOptions{MaxBody: 100_000})
	sent := map[int]int{}
	for _, h := range hostileRequests() {
		resp, text := h.send(t, url)
		sent[resp.StatusCode]++
		if resp.StatusCode >= 500 {
			t.Errorf("%s: %d %.200s", h, resp.StatusCode, text)
		}
		if resp.StatusCode == http.StatusExpectationFailed { // net/http's own answer
			continue
		}
		if resp.StatusCode >= 400 && resp.Header.Get(statesrv.ErrorHeader) == "" {
			t.Errorf("%s: %d without a reason", h, resp.StatusCode)
		}
	}
	t.Logf("answers by status: %v", sent)
	held, err := states.Holder(t.Context(), "kept")
	if err != nil || held == nil || held.Info.ID != "a" {
		t.Errorf("the lock is %v, %v", held, err)
	}
	if got, err := read(states.Read(t.Context(), "kept")); got != doc(1, "l") {
		t.Errorf("the state is %q, %v", got, err)
	}
}

type hostile struct {
	method, path, query, body string
	header                    http.Header
}

func (h hostile) String() string {
	return fmt.Sprintf("%s %.60s%.60s %.40q %.60v", h.method, h.path, h.query, h.body, h.header)
}

func (h hostile) send(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	return send(t, url+h.path+h.query, h.method, h.body, h.header)
}

// hostileRequests vary one thing at a time around what is right, and methods and
// paths with everything.
func hostileRequests() (all []hostile) {
	methods := []string{"GET", "HEAD", "POST", "PUT", "DELETE", "LOCK", "UNLOCK", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "lock", "X-1"}
	long := strings.Repeat("n", 300)
	paths := []string{"/states/kept", "/states/kept/lock", "/states/kept/versions", "/states/kept/versions/1", "/states/kept/versions/-1",
		"/states/kept/versions/99999999999999999999", "/states/kept/events", "/states/kept/status", "/states/kept/restore", "/states", "/states/",
		"/states/.", "/states/..", "/states/%2e%2e", "/states/a%2F..%2Fkept", "/states/..%2F..%2Fetc%2Fpasswd", "/states//kept", "/states/kept/", "/states/kept/nothing",
		"/states/%00", "/states/a%0ab", "/states/%ff%fe", "/states/a%5Cb", "/states/a%20b", "/states/%2Fkept", "/states/kept%2F", "/states/" + long,
		"/states/head.json", "/states/.lock", "/states/CON", "/states/a%252Fb", "/healthz", "/readyz", "/metrics", "/", "/" + long + long}
	queries := []string{"", "?ID=b", "?ID=", "?ID=%00", "?ID=" + long, "?ID=a%zz", "?version=x", "?version=-1", "?version=1&ID=b", "?limit=-1", "?limit=0", "?limit=x",
		"?limit=99999999999999999999", "?before=x", "?after=x", "?tail=x", "?force=true&ID=b", ";;&&==", "?" + long + long}
	bodies := []string{"", "{}", "[]", "null", "0", `"x"`, "{", `{"ID":""}`, `{"ID":1}`, `{"ID":["a"]}`, `{"ID":"b"}`, `{"ID":"` + long + `"}`, doc(2, "l"), doc(2, "other"),
		`{"version":4,"serial":-1,"lineage":"l"}`, `{"version":4,"serial":1e99,"lineage":"l"}`, "\x00\xff\xfe", "<html></html>",
		strings.Repeat("[", 50_000), strings.Repeat("x", 200_000), `{"ID":"b","Who":"` + strings.Repeat("w", 70_000) + `"}`}
	for _, method := range methods {
		for _, path := range paths {
			all = append(all, hostile{method: method, path: path}, hostile{method: method, path: path, query: "?ID=b&version=1", body: doc(2, "l")})
		}
		for _, path := range paths[:10] {
			for _, query := range queries {
				all = append(all, hostile{method: method, path: path, query: query})
			}
		}
		for _, path := range []string{"/states/kept", "/states/kept/lock", "/states/kept/restore"} {
			for _, body := range bodies {
				all = append(all, hostile{method: method, path: path, body: body}, hostile{method: method, path: path, query: "?ID=b", body: body})
			}
		}
	}
	for _, header := range []http.Header{
		{"Content-Md5": {"x"}}, {"Content-Md5": {"AAAA"}}, {"Content-Md5": {long}}, {"Content-Type": {"multipart/form-data"}}, {"Content-Encoding": {"gzip"}},
		{"Expect": {"200-maybe"}}, {"Authorization": {"Basic !!!"}}, {"Authorization": {"Basic " + long}}, {"Range": {"bytes=5-1"}}, {"If-Match": {"*"}},
		{"X-Forwarded-For": {"1.2.3.4\t"}}, {"User-Agent": {strings.Repeat("a", 30_000)}}, {"Accept-Encoding": {"*;q=-1"}}, {"Cookie": {strings.Repeat("c=1;", 5000)}},
	} {
		for _, method := range methods[:7] {
			all = append(all, hostile{method: method, path: "/states/kept", query: "?ID=b", body: doc(2, "l"), header: header})
		}
	}
	return all
}

// TestRequestsThatAreNoHTTP are refused by net/http itself, with 400 or 431 or by
// the end of the connection.
func TestRequestsThatAreNoHTTP(t *testing.T) {
	address := serveReal(t, statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.HandlerOptions{})
	for _, raw := range []string{
		"\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /states/s HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /states/s HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "POST /states/s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		"POST /states/s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"GET /states/s HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 200_000) + "\r\n\r\n", "GET /" + strings.Repeat("a", 200_000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		conn := dial(t, address)
		_, _ = io.WriteString(conn, raw) // the server may have enough of it before the end
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Logf("%.30q: %v", raw, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && (resp.StatusCode < 400 || resp.StatusCode >= 500) && resp.StatusCode != http.StatusHTTPVersionNotSupported {
			t.Errorf("%.60q: %s", raw, resp.Status)
		}
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestSlowClients: whoever sends next to nothing is cut off, while others are
// served, and while a client that is slow but goes on gets its state stored.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	address := serveReal(t, states, statesrv.HandlerOptions{})
	body := doc(1, "l")
	begun := map[string]string{
		"in the request line": "POST /sta",
		"in a header":         "POST /states/slow HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"before the body":     "POST /states/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n",
		"in the body":         "POST /states/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + body[:10],
		"in a lock":           "LOCK /states/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
		"in a large body":     "POST /states/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n{",
	}
	var group sync.WaitGroup
	for where, text := range begun {
		for range 4 { // as many as large bodies are received at a time
			conn := dial(t, address)
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a client that stops %s is not cut off", where)
				}
			})
		}
	}
	slow := "http://" + address + "/states/honest"
	pour, rest := io.Pipe()
	answered := status(t, "POST", slow, pour)
	for i := range len(body) {
		if _, err := io.WriteString(rest, body[i:i+1]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // it is what is slow
	}
	rest.Close()
	if code := <-answered; code != http.StatusOK {
		t.Errorf("a slow client: %d, want 200", code)
	}
	if code := <-status(t, "POST", "http://"+address+"/states/quick", strings.NewReader(body)); code != http.StatusOK {
		t.Errorf("a client beside the slow ones: %d, want 200", code)
	}
	group.Wait()
	if _, err := read(states.Read(t.Context(), "slow")); statusOf(err) != 404 {
		t.Errorf("of the cut requests: %v, want no state", err)
	}
}
