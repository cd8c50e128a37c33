package statesrv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// hooked is a store whose writes a test can get in the way of.
type hooked struct {
	store.Store
	create func(key string, do func() (store.Revision, error)) (store.Revision, error)
	swap   func(key string, do func() (store.Revision, error)) (store.Revision, error)
}

func (h *hooked) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	do := func() (store.Revision, error) { return h.Store.Create(ctx, key, data) }
	if h.create == nil {
		return do()
	}
	return h.create(key, do)
}

func (h *hooked) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	do := func() (store.Revision, error) { return h.Store.Swap(ctx, key, old, data) }
	if h.swap == nil {
		return do()
	}
	return h.swap(key, do)
}

// engines are the stores that the tests of races run on. Each call of the inner
// function gives another handle on the same store, as another process has.
var engines = map[string]func(t *testing.T) func() store.Store{
	"memory": func(*testing.T) func() store.Store {
		s := memory.New()
		return func() store.Store { return s }
	},
	"dir": func(t *testing.T) func() store.Store {
		path := t.TempDir()
		return func() store.Store { return openDir(t, path) }
	},
}

func openDir(t *testing.T, path string) *dir.Store {
	t.Helper()
	s, err := dir.Open(t.Context(), path, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// onEngines runs a test on two States over one store of each kind.
func onEngines(t *testing.T, test func(t *testing.T, states [2]*statesrv.States)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := engine(t)
			test(t, [2]*statesrv.States{statesrv.NewStates(open(), statesrv.Rules{}), statesrv.NewStates(open(), statesrv.Rules{})})
		})
	}
}

// race calls do from many goroutines at once and returns how many gave no error.
// Every other one must be a refusal with that status.
func race(t *testing.T, lost int, do func(i int) error) int {
	t.Helper()
	const racers = 32
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		won   int
	)
	start := make(chan struct{})
	for i := range racers {
		group.Go(func() {
			<-start
			err := do(i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if statusOf(err) != lost {
				t.Errorf("racer %d: %v, want a refusal with %d", i, err, lost)
			}
		})
	}
	close(start)
	group.Wait()
	return won
}

func statusOf(err error) int {
	if r := new(statesrv.Refusal); errors.As(err, &r) {
		return r.Status
	}
	return 0
}

func TestOneOfManyGetsTheLock(t *testing.T) {
	onEngines(t, func(t *testing.T, states [2]*statesrv.States) {
		for round := range 5 {
			won := race(t, http.StatusLocked, func(i int) error {
				_, err := states[i%2].Lock(t.Context(), "s", fmt.Appendf(nil, `{"ID":"%d-%d"}`, round, i), statesrv.Caller{})
				return err
			})
			if won != 1 {
				t.Fatalf("round %d: %d locks were granted, want 1", round, won)
			}
			if _, err := states[0].ForceUnlock(t.Context(), "s", statesrv.ForceUnlockRequest{Any: true}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestOneOfManyWritesASerial(t *testing.T) {
	onEngines(t, func(t *testing.T, states [2]*statesrv.States) {
		const serials = 5
		for serial := range serials {
			won := race(t, http.StatusConflict, func(i int) error {
				body := strings.Replace(doc(serial, "l"), "[]", fmt.Sprintf("[%d]", i), 1)
				_, err := states[i%2].Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(body)})
				return err
			})
			if won != 1 {
				t.Fatalf("serial %d: %d writes were accepted, want 1", serial, won)
			}
		}
		wantHistory(t, states[1], "s", serials)
	})
}

// wantHistory checks that there are versions 1 to n without a gap, each with the
// bytes that its entry tells of and a higher serial than the one before, and the
// last one current.
func wantHistory(t *testing.T, states *statesrv.States, name string, n int) {
	t.Helper()
	var numbers, want []int
	var newer uint64
	for before := 0; ; {
		page, err := states.Versions(t.Context(), name, before, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Versions {
			if len(numbers) > 0 && v.Serial >= newer {
				t.Errorf("version %d has serial %d, the next one %d", v.Number, v.Serial, newer)
			}
			newer = v.Serial
			numbers = append(numbers, v.Number)
			if _, err := read(states.ReadVersion(t.Context(), name, v.Number)); err != nil {
				t.Errorf("version %d: %v", v.Number, err)
			}
		}
		if before = page.Next; before == 0 {
			break
		}
	}
	for i := n; i > 0; i-- {
		want = append(want, i)
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	st, err := states.Status(t.Context(), name)
	if err != nil || st.Current == nil || st.Current.Number != n {
		t.Errorf("current version is %+v, %v, want %d", st.Current, err, n)
	}
}

func read(c *statesrv.Content, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer c.Close()
	data, err := io.ReadAll(c)
	return string(data), err
}

// A lock that is taken away in the middle of a write: the late write is refused,
// on every engine, and nothing newer is overwritten.
func TestForceUnlockInTheMiddleOfAWrite(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			open := engine(t)
			below := open()
			slow := &hooked{Store: below}
			holder := statesrv.NewStates(slow, statesrv.Rules{})
			others := statesrv.NewStates(open(), statesrv.Rules{})
			mustLock(t, holder, "s", lockA)
			slow.create = func(key string, do func() (store.Revision, error)) (store.Revision, error) {
				slow.create = nil // only the first body
				rev, err := do()
				if _, err := others.ForceUnlock(t.Context(), "s", statesrv.ForceUnlockRequest{ID: "a"}); err != nil {
					t.Error(err)
				}
				mustLock(t, others, "s", lockB)
				mustWrite(t, others, "s", "b", doc(9, "l"))
				return rev, err
			}
			_, err := holder.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(1, "l")), ID: "a"})
			if statusOf(err) != http.StatusConflict {
				t.Errorf("late write: %v, want a refusal with 409", err)
			}
			if got, err := read(others.Read(t.Context(), "s")); got != doc(9, "l") {
				t.Errorf("state is %q, %v, want the newer one", got, err)
			}
			wantHistory(t, others, "s", 1)
			wantBodies(t, below, "s", 1)
		})
	}
}

func mustLock(t *testing.T, states *statesrv.States, name, body string) {
	t.Helper()
	if _, err := states.Lock(t.Context(), name, []byte(body), statesrv.Caller{}); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, states *statesrv.States, name, id, body string) {
	t.Helper()
	if _, err := states.Write(t.Context(), name, statesrv.WriteRequest{Body: []byte(body), ID: id}); err != nil {
		t.Fatal(err)
	}
}

// A store that does a write and loses the answer must not make the caller believe
// that it failed; one that did not do it, not that it succeeded.
func TestLostAnswers(t *testing.T) {
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("done=%v", done), func(t *testing.T) {
			s := &hooked{Store: memory.New()}
			states := statesrv.NewStates(s, statesrv.Rules{})
			mustWrite(t, states, "s", "", doc(1, "l"))
			s.swap = func(_ string, do func() (store.Revision, error)) (store.Revision, error) {
				s.swap = nil
				if done {
					if _, err := do(); err != nil {
						t.Error(err)
					}
				}
				return "", fmt.Errorf("connection cut: %w", store.ErrUnknown)
			}
			_, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(2, "l"))})
			if done && err != nil {
				t.Errorf("write that was done: %v", err)
			}
			if !done && (!errors.Is(err, store.ErrUnknown) || statusOf(err) != 0) {
				t.Errorf("write that was not done: %v, want an error that may pass", err)
			}
			mustWrite(t, states, "s", "", doc(2, "l")) // the client tries again
			wantHistory(t, states, "s", 2)
		})
	}
}

// 84: a fault of the store is a 5xx, and after it all is as before.
func TestFaultsOfTheStore(t *testing.T) {
	errFull := errors.New("disk full")
	fail := func(string, func() (store.Revision, error)) (store.Revision, error) { return "", errFull }
	s := &hooked{Store: memory.New()}
	server := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(s, statesrv.Rules{}), statesrv.HandlerOptions{}))
	defer server.Close()
	ok := func(steps ...step) {
		t.Helper()
		for i, st := range steps {
			st.run(t, i+1, server)
		}
	}
	ok(step{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		step{method: "POST", path: "/states/s?ID=a", body: doc(1, "l"), status: 200})
	s.swap = fail
	ok(step{method: "POST", path: "/states/s?ID=a", body: doc(2, "l"), status: 503, fault: "disk full"},
		step{method: "UNLOCK", path: "/states/s", body: lockA, status: 503},
		step{method: "GET", path: "/states/s", status: 200, want: "=" + doc(1, "l")})
	s.swap, s.create = nil, fail
	ok(step{method: "POST", path: "/states/s?ID=a", body: doc(2, "l"), status: 503},
		step{method: "LOCK", path: "/states/t", body: lockA, status: 503},
		step{method: "GET", path: "/states/s/versions/2", status: 404})
	s.create = nil
	ok(step{method: "POST", path: "/states/s?ID=a", body: doc(2, "l"), status: 200, want: `"number":2`},
		step{method: "UNLOCK", path: "/states/s", body: lockA, status: 200},
		step{method: "GET", path: "/states/t", status: 404})
}

// 82: many new states at once.
func TestManyNewStates(t *testing.T) {
	onEngines(t, func(t *testing.T, states [2]*statesrv.States) {
		mustLock(t, states[0], "held", lockA)
		won := race(t, 0, func(i int) error {
			_, err := states[i%2].Write(t.Context(), fmt.Sprintf("new/%02d", i), statesrv.WriteRequest{Body: []byte(doc(i, "l"))})
			return err
		})
		if won != 32 {
			t.Errorf("%d of 32 writes were accepted", won)
		}
		var names []string
		for after := ""; ; {
			page, err := states[0].List(t.Context(), after, 10, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range page.States {
				names = append(names, st.Name)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if len(names) != 33 || names[0] != "held" || names[32] != "new/31" {
			t.Errorf("list has %d states: %q", len(names), names)
		}
	})
}

// Longer than a page of the history and than the ring of events.
func TestLongHistory(t *testing.T) {
	onEngines(t, func(t *testing.T, states [2]*statesrv.States) {
		const n = 70
		for i := range n {
			mustWrite(t, states[i%2], "s", "", doc(i, "l"))
		}
		wantHistory(t, states[0], "s", n)
		v, err := states[0].Version(t.Context(), "s", 32)
		if err != nil || v.Serial != 31 {
			t.Errorf("version 32 = %+v, %v", v, err)
		}
		wantEvents(t, states[0], "s", n)
	})
}

// wantEvents reads the events in small pages and checks that the writes 1 to n
// are there in order.
func wantEvents(t *testing.T, states *statesrv.States, name string, n int) {
	t.Helper()
	next := 1
	for after := ""; ; {
		page, err := states.Events(t.Context(), name, after, 9)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			break
		}
		for _, ev := range page.Events {
			if ev.Action == statesrv.ActionWrite && ev.Status == 0 {
				if ev.Version != next {
					t.Fatalf("event of version %d, want %d", ev.Version, next)
				}
				next++
			}
		}
		after = page.Next
	}
	if next != n+1 {
		t.Errorf("events of %d writes, want %d", next-1, n)
	}
}
