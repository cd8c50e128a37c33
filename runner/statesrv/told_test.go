package statesrv_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// TestWhatEventsTell: who asked for what, by which lock, and who was in the way; also of a request whose body was
// refused before the rules could look at it.
func TestWhatEventsTell(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: statesrv.NewOneUser("ann", "s3cret")}))
	defer server.Close()
	type event = statesrv.Event
	long := strings.Repeat("x", 70_000)
	for i, c := range []struct {
		method, path, body, md5 string
		status                  int
		want                    event
	}{
		{method: "LOCK", path: "?ID=q", body: long, status: 413, want: event{Action: "lock", LockID: "q"}},
		{method: "UNLOCK", path: "?ID=q", body: long, status: 413, want: event{Action: "unlock", LockID: "q"}},
		{method: "POST", path: "?ID=q", body: doc(1, "l"), md5: "?", status: 400, want: event{Action: "write", LockID: "q"}},
		{method: "POST", path: "/restore?version=x&ID=q", status: 400, want: event{Action: "restore", LockID: "q"}},
		{method: "LOCK", body: lockA, status: 200, want: event{Action: "lock", LockID: "a", Who: "ann@one"}},
		{method: "POST", path: "?ID=a", body: doc(1, "l"), status: 200, want: event{Action: "write", LockID: "a", Who: "ann@one", Version: 1, Serial: 1}},
		{method: "POST", path: "?ID=a", body: doc(0, "l"), status: 409, want: event{Action: "write", LockID: "a", Who: "ann@one"}},
		{method: "POST", path: "?ID=a", body: "{}", status: 400, want: event{Action: "write", LockID: "a", Who: "ann@one"}},
		{method: "POST", path: "/restore?version=1&ID=a&who=adm@x", status: 200,
			want: event{Action: "restore", LockID: "a", Who: "adm@x", Version: 2, Serial: 2, Note: "version 1"}},
		{method: "UNLOCK", path: "?force=true&ID=b&who=adm@x", status: 409,
			want: event{Action: "force-unlock", LockID: "b", Who: "adm@x", Holder: "a", HolderWho: "ann@one"}},
		{method: "DELETE", path: "?ID=b", status: 409, want: event{Action: "delete", LockID: "b", Holder: "a", HolderWho: "ann@one"}},
		{method: "DELETE", path: "?ID=a", status: 200, want: event{Action: "delete", LockID: "a", Who: "ann@one", Serial: 2}},
		{method: "UNLOCK", body: lockA, status: 200, want: event{Action: "unlock", LockID: "a", Who: "ann@one", Holder: "a", HolderWho: "ann@one"}},
	} {
		header := basic("ann", "s3cret")
		header.Set("User-Agent", "client/1")
		if c.md5 != "" {
			header.Set("Content-MD5", c.md5)
		}
		step{method: c.method, path: "/states/s" + c.path, body: c.body, header: header, status: c.status}.run(t, i+1, server)
		page, err := states.LastEvents(t.Context(), "s", 1)
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("step %d: %v, %v", i+1, page, err)
		}
		c.want.By = statesrv.Caller{User: "ann", Addr: "127.0.0.1", Agent: "client/1"}
		if c.status >= 400 {
			c.want.Status = c.status
		}
		if diff := cmp.Diff(c.want, page.Events[0], cmpopts.IgnoreFields(event{}, "ID", "Time", "Refused", "Operation")); diff != "" {
			t.Errorf("step %d, %s %s (-want +got)\n%s", i+1, c.method, c.path, diff)
		}
	}
}

// TestWhatHeadersTell of the version that an answer is about.
func TestWhatHeadersTell(t *testing.T) {
	server := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.HandlerOptions{}))
	defer server.Close()
	const version, serial, unchanged = statesrv.VersionHeader, statesrv.SerialHeader, statesrv.UnchangedHeader
	type headers = map[string]string
	size, digest := strconv.Itoa(len(doc(4, "l"))), fmt.Sprintf(`"sha256:%x"`, sha256.Sum256([]byte(doc(4, "l"))))
	for i, c := range []struct {
		method, path, body string
		want               headers
	}{
		{"POST", "", doc(4, "l"), headers{"Content-Type": "application/json", version: "1", serial: "4", unchanged: "false"}},
		{"POST", "", doc(5, "l"), headers{version: "2", serial: "5", unchanged: "false"}},
		{"POST", "", doc(5, "l"), headers{version: "2", serial: "5", unchanged: "true"}},
		{"POST", "/restore?version=1", "", headers{version: "3", serial: "6"}},
		{"GET", "/versions/1", "", headers{"Content-Type": "application/json", "Content-Length": size, "Cache-Control": "no-store",
			"Etag": digest, version: "1", serial: "4"}},
		{"HEAD", "", "", headers{"Content-Type": "application/json", "Content-Length": size, "Cache-Control": "no-store", version: "3", serial: "6"}},
		{"UNLOCK", "", `{"ID":"a"}`, headers{unchanged: "true"}},
		{"LOCK", "", lockA, headers{"Content-Type": "application/json"}},
		{"UNLOCK", "", lockB, headers{unchanged: ""}}, // refused
		{"UNLOCK", "", lockA, headers{unchanged: "false"}},
	} {
		resp, _ := send(t, server.URL+"/states/s"+c.path, c.method, c.body, nil)
		for name, want := range c.want {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("step %d, %s %s: %s is %q, want %q", i+1, c.method, c.path, name, got, want)
			}
		}
	}
}

// TestEveryChangeNeedsTheRight: each way to change a state is closed to who may only read it, and its event says what
// it was.
func TestEveryChangeNeedsTheRight(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	mustWrite(t, states, "team", "", doc(1, "l"))
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: readerOf("team")}))
	defer server.Close()
	for _, c := range []struct{ method, path, action string }{
		{"POST", "", "write"}, {"PUT", "", "write"}, {"DELETE", "", "delete"}, {"POST", "/restore?version=1", "restore"},
		{"LOCK", "", "lock"}, {"LOCK", "/lock", "lock"}, {"POST", "/lock", "lock"}, {"PUT", "/lock", "lock"},
		{"UNLOCK", "", "unlock"}, {"UNLOCK", "/lock", "unlock"}, {"DELETE", "/lock", "unlock"}, {"UNLOCK", "?force=true&any=true", "unlock"},
	} {
		resp, _ := send(t, server.URL+"/states/team"+c.path, c.method, "", nil)
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %s, want 403", c.method, c.path, resp.Status)
		}
		page, err := states.LastEvents(t.Context(), "team", 1)
		if err != nil || string(page.Events[0].Action) != c.action || page.Events[0].Status != http.StatusForbidden {
			t.Errorf("%s %s: the event is %+v, %v; want %s, 403", c.method, c.path, page.Events, err, c.action)
		}
	}
}
