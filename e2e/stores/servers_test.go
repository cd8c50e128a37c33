package stores

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
)

// requestsVar says how many requests TestTwoServers sends.
const requestsVar = "STATESRV_TEST_REQUESTS"

// TestTwoServers lets 32 clients work through two servers on one store. Never is a
// lock granted twice or a serial written twice; every acknowledged write can be
// read; the history has no gap.
func TestTwoServers(t *testing.T) {
	requests := 1000
	if text := os.Getenv(requestsVar); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", requestsVar, err)
		}
		requests = n
	}
	onPlaces(t, func(t *testing.T, p place) {
		l := newLoad(t, p.servers(t), requests)
		l.run(t.Context())
		l.verify(t)
	})
}

// TestForceUnlockOnTheOtherServer: the holder's late write is refused, and what
// was written meanwhile stays.
func TestForceUnlockOnTheOtherServer(t *testing.T) {
	onPlaces(t, func(t *testing.T, p place) {
		servers := p.servers(t)
		one, two := at(t, servers[0], "s"), at(t, servers[1], "s")
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(one.Lock(ctx, statesrv.LockInfo{ID: "first"}))
		_, err := one.Push(ctx, statesrv.WriteRequest{Body: stateOf(1), ID: "first"})
		must(err)
		broken, err := two.ForceUnlock(ctx, statesrv.ForceUnlockRequest{ID: "first"})
		must(err)
		if broken == nil || broken.Info.ID != "first" {
			t.Errorf("the lock that was broken is %v, want first", broken)
		}
		must(two.Lock(ctx, statesrv.LockInfo{ID: "second"}))
		_, err = two.Push(ctx, statesrv.WriteRequest{Body: stateOf(2), ID: "second"})
		must(err)
		var refusal *statesrv.Refusal
		if _, err = one.Push(ctx, statesrv.WriteRequest{Body: stateOf(3), ID: "first"}); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
			t.Errorf("the late write: %v, want a refusal with 409", err)
		}
		if got, err := pull(one.Pull(ctx, 0)); string(got) != string(stateOf(2)) {
			t.Errorf("the state is %q, %v; want serial 2", got, err)
		}
	})
}

// TestServeRefusesACarelessBucket: an S3 server that overwrites whatever the
// conditions say is not served from.
func TestServeRefusesACarelessBucket(t *testing.T) {
	server := httptest.NewServer(&careless{objects: map[string]written{}})
	defer server.Close()
	p, portFile := serve(t, "s3://"+bucket, "STATESRV_S3_ENDPOINTS="+server.URL)
	p.waitForEnd(t)
	text := p.Output()
	if p.Cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text, "does not enforce conditional writes: 32 of 32 creations") {
		t.Errorf("exit code %d, want 1 and the reason:\n%s", p.Cmd.ProcessState.ExitCode(), text)
	}
	if _, err := os.Stat(portFile); err == nil {
		t.Error("it has listened")
	}
}

// careless is an S3 server without conditions.
type careless struct {
	mu      sync.Mutex
	objects map[string]written
	puts    int
}

type written struct{ etag, id string }

const idHeader = "X-Amz-Meta-Statesrv-Write"

func (c *careless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		c.puts++
		c.objects[r.URL.Path] = written{strconv.Itoa(c.puts), r.Header.Get(idHeader)}
	case http.MethodDelete:
		delete(c.objects, r.URL.Path)
		return
	}
	o, ok := c.objects[r.URL.Path]
	if !ok {
		http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", `"`+o.etag+`"`)
	w.Header().Set(idHeader, o.id)
}
