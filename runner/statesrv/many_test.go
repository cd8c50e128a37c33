package statesrv_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// TestTenThousandStates: the list is complete, in order and paged, and neither it
// nor the check at the start keeps all of it in memory.
func TestTenThousandStates(t *testing.T) {
	t.Parallel()
	const n = 10_000
	path := t.TempDir()
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	mustWrite(t, states, "state-00000", "", doc(1, "l"))
	first := filepath.Join(path, "state-00000")
	for i := 1; i < n; i++ { // not by writes: an fsync takes a while
		state := filepath.Join(path, fmt.Sprintf("state-%05d", i))
		if err := errors.Join(os.MkdirAll(state, 0o700), os.Link(filepath.Join(first, "head.json"), filepath.Join(state, "head.json"))); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	before := allocated()
	for after := ""; ; {
		page, err := states.List(t.Context(), after, 1000, nil)
		if err != nil || len(page.States) > 1000 {
			t.Fatalf("a page of %d states, %v", len(page.States), err)
		}
		for _, s := range page.States {
			names = append(names, s.Name)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(names) != n || !slices.IsSorted(names) || len(slices.Compact(names)) != n {
		t.Errorf("the list has %d states, sorted: %v", len(names), slices.IsSorted(names))
	}
	// It reads each head once, and the names once for each page.
	if used := (allocated() - before) / n; used > 64<<10 {
		t.Errorf("listing took %d bytes for each state", used)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// counted counts what is written to and read from a store.
type counted struct {
	store.Store
	bytes, calls atomic.Int64
}

func (c *counted) note(n int) { c.bytes.Add(int64(n)); c.calls.Add(1) }

func (c *counted) Get(ctx context.Context, key string) (store.Record, error) {
	rec, err := c.Store.Get(ctx, key)
	c.note(len(rec.Data))
	return rec, err
}

func (c *counted) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if !strings.Contains(key, "events.jsonl") { // the memory store has no log of its own
		c.note(len(data))
	}
	return c.Store.Create(ctx, key, data)
}

func (c *counted) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	c.note(len(data))
	return c.Store.Swap(ctx, key, old, data)
}

// TestManyVersions: a write, and the entry of any version, cost the same however
// long the history is; it is read page by page. CAPTF_TORTURE=1 makes it 10,000.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	n := 2000
	if os.Getenv("CAPTF_TORTURE") == "1" {
		n = 10_000
	}
	s := &counted{Store: memory.New()}
	states := statesrv.NewStates(s, statesrv.Rules{})
	cost := func(do func()) (calls, bytes int64) {
		calls, bytes = s.calls.Load(), s.bytes.Load()
		do()
		return s.calls.Load() - calls, s.bytes.Load() - bytes
	}
	serial := 0
	writes := func(count int) func() {
		return func() {
			for range count {
				mustWrite(t, states, "s", "", doc(serial, "l"))
				serial++
			}
		}
	}
	writes(320)()
	earlyCalls, earlyBytes := cost(writes(320))
	writes(n - 960)()
	lateCalls, lateBytes := cost(writes(320))
	if lateCalls > earlyCalls*11/10 || lateBytes > earlyBytes*13/10 {
		t.Errorf("320 writes took %d calls and %d bytes early, %d and %d late", earlyCalls, earlyBytes, lateCalls, lateBytes)
	}
	for _, number := range []int{1, 33, n / 2, n} {
		if calls, _ := cost(func() { wantVersion(t, states, number) }); calls > 2 {
			t.Errorf("the entry of version %d took %d reads", number, calls)
		}
	}
	wantHistory(t, states, "s", n)
}

func wantVersion(t *testing.T, states *statesrv.States, number int) {
	t.Helper()
	if v, err := states.Version(t.Context(), "s", number); err != nil || v.Number != number {
		t.Errorf("version %d is %+v, %v", number, v, err)
	}
}

// TestLargeStatesAtOnce: 24 clients send states of 12 MiB at the same time. All
// are stored, and the memory is that of the few that are received at once.
func TestLargeStatesAtOnce(t *testing.T) {
	const size, clients = 12 << 20, 24
	states := statesrv.NewStates(openDir(t, t.TempDir()), statesrv.Rules{})
	url := "http://" + serveReal(t, states, statesrv.HandlerOptions{}) + "/states/large-"
	body := big(size)
	most := watchHeap()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			if code := repeated(t, fmt.Sprint(url, i), body); code != http.StatusOK {
				t.Errorf("client %d: %d, want 200", i, code)
			}
		})
	}
	group.Wait()
	inUse := most()
	t.Logf("at most %d MiB of heap in use", inUse>>20)
	// The test's own copy, four bodies, and as much again until the collector runs, which may be late on a busy
	// machine. All bodies at once, without what it takes to receive them, are 24 and the test's own.
	if inUse > 12*size+80<<20 {
		t.Errorf("%d MiB of heap were in use for %d bodies of %d MiB", inUse>>20, clients, size>>20)
	}
}

// repeated posts as the clients do: once more when the server was busy for a minute,
// which a busy machine can bring about, or has closed the connection with that answer.
func repeated(t *testing.T, url, body string) (code int) {
	for range 10 {
		code = <-status(t, "POST", url, strings.NewReader(body))
		if code != http.StatusServiceUnavailable && code != 0 {
			return code
		}
	}
	return code
}

// watchHeap returns a function that ends the watch and returns the most bytes of heap
// that were in use. The watch does not stop the world, which would be the load itself.
func watchHeap() (most func() uint64) {
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		var top uint64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(samples)
			top = max(top, samples[0].Value.Uint64()+samples[1].Value.Uint64())
			select {
			case <-stop:
				result <- top
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(stop); return <-result }
}
