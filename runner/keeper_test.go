package runner

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

const heldBody = `{"ID":"id-1","Operation":"OperationTypeApply","Who":"runner@pod","Created":"2026-01-02T03:04:05Z"}`

// keeperOf connects to a server with a state x.
func keeperOf(t *testing.T, handler http.Handler, password string) *httpKeeper {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address := server.URL + "/states/x"
	b, err := newBackend("", []string{"address=" + address, "lock_address=" + address, "username=u", "password=" + password}, "")
	if err != nil {
		t.Fatal(err)
	}
	k := newHTTPKeeper(b)
	if k == nil {
		t.Fatal("no keeper for a backend with address and lock address")
	}
	return k
}

// TestServerKeepers looks at a state server's lock over HTTP, and from inside the same process.
func TestServerKeepers(t *testing.T) {
	for name, keeper := range map[string]func(*testing.T, *statesrv.States) lockKeeper{
		"http": func(t *testing.T, states *statesrv.States) lockKeeper {
			return keeperOf(t, statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: statesrv.NewOneUser("u", "p")}), "p")
		},
		"local": func(_ *testing.T, states *statesrv.States) lockKeeper { return &local{name: "x", states: states} },
	} {
		t.Run(name, func(t *testing.T) {
			states := statesrv.NewStates(memory.New(), statesrv.Rules{})
			testKeeper(t, states, keeper(t, states))
		})
	}
}

func testKeeper(t *testing.T, states *statesrv.States, k lockKeeper) {
	ctx := t.Context()
	if holder, err := k.Holder(ctx); err != nil || holder != nil {
		t.Errorf("holder of a free lock = %v, %v", holder, err)
	}
	if _, err := states.Lock(ctx, "x", []byte(heldBody), statesrv.Caller{}); err != nil {
		t.Fatal(err)
	}
	if holder, err := k.Holder(ctx); err != nil || holder == nil || holder.ID != "id-1" || holder.Who != "runner@pod" || holder.Created.IsZero() {
		t.Errorf("holder = %v, %v", holder, err)
	}
	if u, err := k.Release(ctx, "id-2"); err != nil || u.Outcome != lock.HeldByOther || u.Holder.ID != "id-1" {
		t.Errorf("release of another ID = %+v, %v", u, err)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if wait, err := k.WaitFree(short); !errors.Is(err, context.DeadlineExceeded) || wait.Holder.ID != "id-1" {
		t.Errorf("wait = %+v, %v; want the end of the context and the holder", wait, err)
	}
	if u, err := k.Release(ctx, "id-1"); err != nil || u.Outcome != lock.Released {
		t.Errorf("release = %+v, %v", u, err)
	}
	if u, err := k.Release(ctx, "id-1"); err != nil || u.Outcome != lock.AlreadyUnlocked {
		t.Errorf("second release = %+v, %v", u, err)
	}
	if _, err := k.WaitFree(ctx); err != nil {
		t.Errorf("wait for a free lock: %v", err)
	}
}

// A server that is no statesrv, or that refuses us, is one whose lock cannot be looked at: never a free lock.
func TestHTTPKeeperOfAnotherServer(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	for name, k := range map[string]*httpKeeper{
		"not found":      keeperOf(t, http.NotFoundHandler(), "p"),
		"anything":       keeperOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }), "p"),
		"wrong password": keeperOf(t, statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: statesrv.NewOneUser("u", "p")}), "q"),
	} {
		if holder, err := k.Holder(t.Context()); !errors.Is(err, errNoLook) {
			t.Errorf("%s: holder = %v, %v; want errNoLook", name, holder, err)
		}
	}
}

// The server hands the lock to another, or to nobody, between the runner's look and its request to unlock.
func TestReleaseThatIsTooLate(t *testing.T) {
	for name, row := range map[string]struct {
		next string // who has the lock when the request to unlock comes
		want lock.Outcome
	}{
		"another has it": {`{"ID":"id-2","Who":"other@pod"}`, lock.HeldByOther},
		"nobody has it":  {"", lock.AlreadyUnlocked},
	} {
		t.Run(name, func(t *testing.T) {
			holder := heldBody
			k := keeperOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == "UNLOCK":
					holder = row.next
					http.Error(w, "the lock is another's", http.StatusConflict)
				case holder == "":
					w.Header().Set(statesrv.ErrorHeader, "not locked")
					http.Error(w, "not locked", http.StatusNotFound)
				default:
					_, _ = w.Write([]byte(holder))
				}
			}), "p")
			u, err := k.Release(t.Context(), "id-1")
			if err != nil || u.Outcome != row.want {
				t.Errorf("release = %+v, %v; want %s", u, err, row.want)
			}
			if row.want == lock.HeldByOther && u.Holder.ID != "id-2" {
				t.Errorf("holder = %+v, want the new one", u.Holder)
			}
		})
	}
}
