package stores

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// TestRobbedApply breaks the lock of a real apply in its middle and stores something
// newer, as an administrator and another apply would. On every store the late write
// is refused, the client keeps errored.tfstate, and what is newer stays.
func TestRobbedApply(t *testing.T) {
	onPlaces(t, func(t *testing.T, p place) {
		servers := p.servers(t)
		for _, runtime := range tools.Runtimes(t) {
			t.Run(runtime.Name, func(t *testing.T) {
				testRobbedApply(t, runtime, servers)
			})
		}
	})
}

func testRobbedApply(t *testing.T, runtime tools.Runtime, servers []string) {
	name := "robbed-" + runtime.Name
	address, other := servers[0]+"/states/"+name, servers[1]+"/states/"+name
	r := newRoot(t, runtime, address)
	r.ok(t, apply("one")...)
	before, err := pull(at(t, servers[0], name).Pull(t.Context(), 0))
	if err != nil {
		t.Fatal(err)
	}
	// Serial 100 is newer than what the apply is about to store.
	newer := newerThan(t, string(before), 100)
	r.write(t, "newer.tfstate", newer)
	r.write(t, "robber.tf", fmt.Sprintf(`
resource "terraform_data" "robber" {
  provisioner "local-exec" {
    command = "'%[1]s' force-unlock '%[2]s' --any --yes && '%[1]s' push '%[2]s' newer.tfstate"
  }
}
`, tools.Build(t, "./cmd/statesrv"), other))
	r.refused(t, "409", apply("two")...)

	wantState(t, servers, name, newer)
	errored, err := os.ReadFile(filepath.Join(r.dir, "errored.tfstate"))
	if err != nil || !strings.Contains(string(errored), `"two"`) {
		t.Errorf("errored.tfstate: %v\n%s", err, errored)
	}
	// Pushing it, even with -force, does not replace what is newer: the client's force
	// is not the server's.
	r.refused(t, "over newer state", "state", "push", "errored.tfstate")
	r.refused(t, "409", "state", "push", "-force", "errored.tfstate")
	wantState(t, servers, name, newer)
	if st, err := at(t, servers[1], name).Status(t.Context()); err != nil || st.Lock != nil {
		t.Errorf("locked by %v, %v; want it free", st.Lock, err)
	}
	wantRefusal(t, servers[1], name, http.StatusConflict)
}

// newerThan returns a state with another serial.
func newerThan(t *testing.T, state string, serial int) string {
	t.Helper()
	before, after, ok := strings.Cut(state, `"serial":`)
	end := strings.IndexAny(after, ",}")
	if !ok || end < 0 {
		t.Fatalf("no serial in %s", state)
	}
	return fmt.Sprintf(`%s"serial":%d%s`, before, serial, after[end:])
}

func wantState(t *testing.T, servers []string, name, want string) {
	t.Helper()
	for _, server := range servers {
		if got, err := pull(at(t, server, name).Pull(t.Context(), 0)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", server, got, err, want)
		}
	}
}

// wantRefusal looks for a write among the events that was refused with a status.
func wantRefusal(t *testing.T, server, name string, status int) {
	t.Helper()
	page, err := at(t, server, name).Events(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range page.Events {
		if ev.Action == "write" && ev.Status == status {
			return
		}
	}
	t.Errorf("no write was refused with %d: %+v", status, page.Events)
}
