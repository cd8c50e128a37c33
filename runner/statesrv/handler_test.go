package statesrv_test

import (
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// step is a request and what has to come back. A status of 400 or more has to
// come with an error header, which has to have fault in it.
type step struct {
	method, path, body string
	header             http.Header
	status             int
	want               string // the body, if it begins with "=", else a part of it
	fault              string
}

// doc is a small state.
func doc(serial int, lineage string) string {
	return fmt.Sprintf(`{"version":4,"serial":%d,"lineage":%q,"resources":[]}`, serial, lineage)
}

const (
	lockA = `{"ID":"a","Operation":"OperationTypeApply","Info":"","Who":"ann@one","Version":"1.12.6","Created":"2026-11-30T01:47:54.701841437Z","Path":""}`
	lockB = `{"ID":"b","Operation":"OperationTypePlan","Info":"","Who":"bob@two","Version":"1.12.6","Created":"2026-11-30T02:47:54.701841437Z","Path":""}`
)

// scenarios run one after another against a fresh server each; the numbers are
// those of the reported failures that they guard against.
var scenarios = []struct {
	name  string
	rules statesrv.Rules
	opts  statesrv.HandlerOptions
	steps []step
}{
	{name: "lock, write, read, unlock", steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200, want: "=" + lockA},
		{method: "GET", path: "/states/s/lock", status: 200, want: "=" + lockA},
		{method: "POST", path: "/states/s?ID=a", body: doc(1, "l"), status: 200, want: `"number":1`},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(1, "l")},
		{method: "UNLOCK", path: "/states/s", body: lockA, status: 200, want: "="},
		{method: "GET", path: "/states/s/lock", status: 404},
	}},
	{name: "71: a wrong or missing lock ID", steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "POST", path: "/states/s?ID=a", body: doc(1, "l"), status: 200},
		{method: "POST", path: "/states/s?ID=b", body: doc(2, "l"), status: 409, want: "=" + lockA, fault: "ann@one"},
		{method: "POST", path: "/states/s", body: doc(2, "l"), status: 423, want: "=" + lockA, fault: "no lock ID"},
		{method: "DELETE", path: "/states/s?ID=b", status: 409, want: "=" + lockA},
		{method: "DELETE", path: "/states/s", status: 423, want: "=" + lockA},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(1, "l")},
	}},
	{name: "a query that cannot be read brings no lock ID, and is not taken for one without", steps: []step{
		{method: "POST", path: "/states/s?ID=a;b", body: doc(1, "l"), status: 400, fault: "semicolon"},
		{method: "POST", path: "/states/s?ID=%zz", body: doc(1, "l"), status: 400, fault: "the query cannot be read"},
		{method: "DELETE", path: "/states/s?ID=%zz", status: 400},
		{method: "GET", path: "/states?after=%zz", status: 400},
		{method: "GET", path: "/states/s/versions", status: 200, want: `{"versions":[]}`},
	}},
	{name: "a query that has a parameter twice", steps: []step{
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200},
		{method: "POST", path: "/states/s/restore?version=1&version=2", status: 400, fault: `"version" more than once`},
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "POST", path: "/states/s?ID=a&ID=b", body: doc(2, "l"), status: 400, fault: `"ID" more than once`},
		{method: "GET", path: "/states?limit=1&limit=2", status: 400},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(1, "l")},
	}},
	{name: "a lock that is gone", steps: []step{
		{method: "POST", path: "/states/s?ID=a", body: doc(1, "l"), status: 409, fault: "force-unlocked"},
		{method: "DELETE", path: "/states/s?ID=a", status: 409, fault: "force-unlocked"},
		{method: "GET", path: "/states/s", status: 404},
	}},
	{name: "72, 79, 80: serial and lineage", steps: []step{
		{method: "POST", path: "/states/s", body: doc(0, "l"), status: 200},
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200, want: `"number":2`},
		{method: "POST", path: "/states/s", body: doc(0, "l"), status: 409, fault: "older"},
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200, want: `"number":2`},
		{method: "POST", path: "/states/s", body: strings.Replace(doc(1, "l"), "[]", "[{}]", 1), status: 409, fault: "other content"},
		{method: "POST", path: "/states/s?force=false", body: doc(0, "l"), status: 409, fault: "older"},
		{method: "POST", path: "/states/s", body: doc(2, "m"), status: 409, fault: "lineage"},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(1, "l")},
		{method: "POST", path: "/states/s?force=true", body: doc(0, "m"), status: 200, want: `"forced":true`},
		{method: "GET", path: "/states/s/events?tail=1", status: 200, want: `"note":"forced: lineage`},
	}},
	{name: "74: lock bodies", steps: []step{
		{method: "LOCK", path: "/states/s", body: "", status: 400},
		{method: "LOCK", path: "/states/s", body: "{}", status: 400},
		{method: "LOCK", path: "/states/s", body: `{"ID":"x","Created":""}`, status: 400, fault: "Created is no time"},
		{method: "LOCK", path: "/states/s", body: `{"ID":"x","Created":"yesterday"}`, status: 400, fault: "Created is no time"},
		{method: "LOCK", path: "/states/s", body: "[]", status: 400},
		{method: "LOCK", path: "/states/s", body: strings.Repeat("x", 2<<20), status: 413},
		{method: "UNLOCK", path: "/states/s", body: "[]", status: 400},
		{method: "GET", path: "/states/s/lock", status: 404},
	}},
	{name: "76, 77: the other verbs", steps: []step{
		{method: "POST", path: "/states/s/lock", body: lockA, status: 200},
		{method: "PUT", path: "/states/s/lock", body: lockB, status: 423, want: "=" + lockA},
		{method: "LOCK", path: "/states/s/lock", body: lockB, status: 423, want: "=" + lockA},
		{method: "PUT", path: "/states/s?ID=a", body: doc(1, "l"), status: 200},
		{method: "DELETE", path: "/states/s/lock", body: lockB, status: 409, want: "=" + lockA},
		{method: "DELETE", path: "/states/s/lock?ID=a", status: 200},
		{method: "PUT", path: "/states/s/lock", body: lockB, status: 200},
		{method: "UNLOCK", path: "/states/s/lock", body: lockB, status: 200},
		{method: "DELETE", path: "/states/s", status: 200},
	}},
	{name: "82: states are independent", steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "LOCK", path: "/states/t", body: lockB, status: 200},
		{method: "POST", path: "/states/t?ID=a", body: doc(1, "l"), status: 409, want: "=" + lockB},
		{method: "GET", path: "/states/s", status: 404},
	}},
	{name: "83: a lock whose answer was lost", steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "LOCK", path: "/states/s", body: lockA, status: 200, want: "=" + lockA},
		{method: "LOCK", path: "/states/s", body: lockB, status: 423, want: "=" + lockA},
		{method: "UNLOCK", path: "/states/s", body: lockA, status: 200},
		{method: "UNLOCK", path: "/states/s", body: lockA, status: 200},
	}},
	{name: "85: no state", steps: []step{
		{method: "GET", path: "/states/s", status: 404, want: "=there is no state s\n"},
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200},
		{method: "DELETE", path: "/states/s", status: 200, want: "="},
		{method: "DELETE", path: "/states/s", status: 200, want: "="},
		{method: "GET", path: "/states/s", status: 404, fault: "can be restored"},
		{method: "HEAD", path: "/states/s", status: 404},
		{method: "GET", path: "/states/s/versions/1", status: 200, want: "=" + doc(1, "l")},
		{method: "POST", path: "/states/s", body: doc(1, "other"), status: 200, want: `"number":2`},
	}},
	{name: "28: locks required", rules: statesrv.Rules{RequireLock: true}, steps: []step{
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 428, want: "lock the state"},
		{method: "GET", path: "/states/s", status: 404},
		{method: "GET", path: "/states/s/events", status: 200, want: `"status":428`},
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "POST", path: "/states/s?ID=a", body: doc(1, "l"), status: 200},
		{method: "UNLOCK", path: "/states/s", body: lockA, status: 200},
		{method: "DELETE", path: "/states/s", status: 428},
	}},
	{name: "30: empty states", steps: []step{
		{method: "POST", path: "/states/s", body: strings.Replace(doc(1, "l"), "[]", `[{"a":1},{"b":2}]`, 1), status: 200},
		{method: "POST", path: "/states/s", body: "", status: 400, fault: "empty"},
		{method: "POST", path: "/states/s", body: doc(2, "l"), status: 200},
		{method: "POST", path: "/states/s/restore?version=1", status: 200, want: `"serial":3`},
		{method: "GET", path: "/states/s", status: 200, want: "=" + strings.Replace(doc(3, "l"), "[]", `[{"a":1},{"b":2}]`, 1)},
	}},
	{name: "48: an administrator breaks a lock", steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "UNLOCK", path: "/states/s?force=true&ID=b&who=adm@x", status: 409, want: "=" + lockA},
		{method: "UNLOCK", path: "/states/s?force=true&who=adm@x", status: 400},
		{method: "UNLOCK", path: "/states/s?force=true&any=false", status: 400},
		{method: "UNLOCK", path: "/states/s?force=false&any=true", status: 409},
		{method: "UNLOCK", path: "/states/s?force=true&ID=a&who=adm@x", status: 200, want: `"Who":"ann@one"`},
		{method: "GET", path: "/states/s/events?tail=1", status: 200, want: `"who":"adm@x","holder":"a","holder_who":"ann@one"`},
		{method: "LOCK", path: "/states/s", body: lockB, status: 200},
		{method: "UNLOCK", path: "/states/s?force=true&any=true", status: 200, want: `"Who":"bob@two"`},
	}},
	{name: "force-unlock of OpenTofu and of Terraform", steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "UNLOCK", path: "/states/s", body: `{"ID":"b"}`, status: 409, want: "=" + lockA},
		{method: "UNLOCK", path: "/states/s", body: "", status: 409, want: "=" + lockA, fault: "statesrv force-unlock"},
		{method: "UNLOCK", path: "/states/s?ID=b", body: `{"ID":"a"}`, status: 400},
		{method: "UNLOCK", path: "/states/s", body: `{"ID":"a"}`, status: 200},
		{method: "GET", path: "/states/s/events?tail=1", status: 200, want: `"action":"force-unlock"`},
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "UNLOCK", path: "/states/s?ID=b", body: "", status: 409},
		{method: "UNLOCK", path: "/states/s?ID=" + strings.Repeat("i", 257), body: "", status: 400, fault: "longer than 256 bytes"},
		{method: "UNLOCK", path: "/states/s?ID=a", body: "", status: 200},
	}},
	{name: "empty unlock allowed", rules: statesrv.Rules{AllowEmptyUnlock: true}, steps: []step{
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "UNLOCK", path: "/states/s", body: `{"ID":"b"}`, status: 409},
		{method: "UNLOCK", path: "/states/s", body: "", status: 200},
		{method: "GET", path: "/states/s/events?tail=1", status: 200, want: `"note":"the request had no lock ID"`},
		{method: "GET", path: "/states/s/lock", status: 404},
	}},
	{name: "names", steps: []step{
		{method: "POST", path: "/states/terraform", body: doc(1, "one"), status: 200},
		{method: "POST", path: "/states/terraform.tfstate", body: doc(1, "two"), status: 200},
		{method: "POST", path: "/states/a%2Fb", body: doc(1, "slash"), status: 200},
		{method: "POST", path: "/states/a-b", body: doc(1, "dash"), status: 200},
		{method: "POST", path: "/states/a%2Flock", body: doc(1, "lock"), status: 200},
		{method: "GET", path: "/states/a%2fb", status: 200, want: "=" + doc(1, "slash")},
		{method: "GET", path: "/states/a-b", status: 200, want: "=" + doc(1, "dash")},
		{method: "GET", path: "/states/terraform", status: 200, want: "=" + doc(1, "one")},
		{method: "GET", path: "/states/a/lock", status: 404},
		{method: "GET", path: "/states/a/b", status: 404},
		{method: "GET", path: "/states/", status: 400},
		{method: "LOCK", path: "/states//", body: lockA, status: 400},
		{method: "GET", path: "/states/../etc", status: 400},
		{method: "GET", path: "/states/..%2F..%2Fetc%2Fpasswd", status: 400},
		{method: "LOCK", path: "/states/%2e%2e", body: lockA, status: 400},
		{method: "POST", path: "/states/a%2F%2Fb", body: doc(1, "l"), status: 400},
		{method: "POST", path: "/states/a%00", body: doc(1, "l"), status: 400},
		{method: "POST", path: "/states/" + strings.Repeat("n", 300), body: doc(1, "l"), status: 400},
		{method: "GET", path: "/states", status: 200, want: `"name":"a-b"`},
	}},
	{name: "Content-MD5", steps: []step{
		{method: "POST", path: "/states/s", body: doc(1, "l"), header: md5Header(doc(1, "l")), status: 200},
		{method: "POST", path: "/states/s", body: doc(2, "l"), header: md5Header("other"), status: 400, fault: "MD5"},
		{method: "POST", path: "/states/s", body: doc(2, "l"), header: http.Header{"Content-Md5": {"?"}}, status: 400, fault: "Content-MD5"},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(1, "l")},
	}},
	{name: "too long", opts: statesrv.HandlerOptions{MaxBody: 100}, steps: []step{
		{method: "POST", path: "/states/s", body: strings.Replace(doc(1, "l"), "[]", strings.Repeat(" ", 100)+"[]", 1), status: 413, fault: "100 bytes"},
		{method: "GET", path: "/states/s", status: 404},
		{method: "GET", path: "/states/s/events", status: 200, want: `"status":413`},
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200},
	}},
	{name: "encrypted", steps: []step{
		{method: "POST", path: "/states/s", body: `{"serial":1,"lineage":"l","encrypted_data":"AA"}`, status: 200, want: `"opaque":true`},
		{method: "POST", path: "/states/s", body: `{"serial":0,"lineage":"l","encrypted_data":"AA"}`, status: 409, fault: "older"},
		{method: "POST", path: "/states/s", body: `{"serial":2,"lineage":"l","encrypted_data":"BB"}`, status: 200},
		{method: "POST", path: "/states/s/restore?version=1", status: 409, fault: "encrypted"},
	}},
	{name: "restore", steps: []step{
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200},
		{method: "POST", path: "/states/s", body: doc(7, "l"), status: 200},
		{method: "POST", path: "/states/s/restore", status: 400},
		{method: "POST", path: "/states/s/restore?version=0", status: 404},
		{method: "POST", path: "/states/s/restore?version=3", status: 404, fault: "newest is 2"},
		{method: "LOCK", path: "/states/s", body: lockA, status: 200},
		{method: "POST", path: "/states/s/restore?version=1", status: 423, want: "=" + lockA},
		{method: "UNLOCK", path: "/states/s", body: lockA, status: 200},
		{method: "POST", path: "/states/s/restore?version=1&who=ann@one", status: 200, want: `"restored_from":1`},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(8, "l")},
		{method: "POST", path: "/states/s", body: doc(9, "l"), status: 200},
		{method: "DELETE", path: "/states/s", status: 200},
		{method: "POST", path: "/states/s/restore?version=2", status: 200},
		{method: "GET", path: "/states/s", status: 200, want: "=" + doc(10, "l")},
		{method: "POST", path: "/states/s?force=true", body: doc(1, "m"), status: 200},
		{method: "POST", path: "/states/s/restore?version=1", status: 409, fault: "lineage"},
	}},
	{name: "restore follows the newest of its own lineage", steps: []step{
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200},
		{method: "POST", path: "/states/s", body: doc(7, "l"), status: 200},
		{method: "DELETE", path: "/states/s", status: 200},
		{method: "POST", path: "/states/s", body: doc(1, "m"), status: 200},
		{method: "DELETE", path: "/states/s", status: 200},
		{method: "POST", path: "/states/s/restore?version=1", status: 200, want: `"serial":8`},
		{method: "GET", path: "/states/s/versions?limit=1", status: 200, want: `"operation":"restore","restored_from":1`},
	}},
	{name: "history", steps: []step{
		{method: "POST", path: "/states/s", body: doc(1, "l"), status: 200},
		{method: "POST", path: "/states/s", body: doc(2, "l"), status: 200},
		{method: "GET", path: "/states/s/versions?limit=1", status: 200, want: `"next":2`},
		{method: "GET", path: "/states/s/versions?limit=1&before=2", status: 200, want: `{"versions":[{"number":1`},
		{method: "GET", path: "/states/s/versions?limit=x", status: 400, fault: "?limit= is not a number"},
		{method: "GET", path: "/states/s/versions?limit=-1", status: 400, fault: "below 0"},
		{method: "GET", path: "/states/s/versions?limit=0", status: 400, fault: "want 1 or more"},
		{method: "GET", path: "/states/s/events?limit=0", status: 400, fault: "want 1 or more"},
		{method: "GET", path: "/states?limit=0", status: 400, fault: "want 1 or more"},
		{method: "GET", path: "/states/s/versions/2", status: 200, want: "=" + doc(2, "l")},
		{method: "GET", path: "/states/s/versions/3", status: 404},
		{method: "GET", path: "/states/s/versions/x", status: 400},
		{method: "GET", path: "/states/t/versions", status: 200, want: `{"versions":[]}`},
		{method: "GET", path: "/states/t/events", status: 200, want: `"events":[]`},
		{method: "GET", path: "/states/s/status", status: 200, want: `"versions":2`},
	}},
	{name: "what is not there", steps: []step{
		{method: "PATCH", path: "/states/s", status: 405},
		{method: "LOCK", path: "/states", status: 405},
		{method: "GET", path: "/nothing", status: 404},
		{method: "GET", path: "/healthz", status: 200, want: "=ok\n"},
		{method: "GET", path: "/readyz", status: 200, want: "=ok\n"},
	}},
	{name: "credentials", opts: statesrv.HandlerOptions{Auth: statesrv.NewOneUser("ann", "s3cret")}, steps: []step{
		{method: "GET", path: "/states/s", status: 401},
		{method: "GET", path: "/states", status: 401},
		{method: "LOCK", path: "/states/s", body: lockA, status: 401},
		{method: "POST", path: "/states/s", body: doc(1, "l"), header: basic("ann", "wrong"), status: 403},
		{method: "POST", path: "/states/s", body: doc(1, "l"), header: basic("bob", "s3cret"), status: 403},
		{method: "POST", path: "/states/s", body: doc(1, "l"), header: basic("ann", "s3cret"), status: 200},
		{method: "GET", path: "/states/s/events", header: basic("ann", "s3cret"), status: 200, want: `"user":"ann"`},
		{method: "GET", path: "/healthz", status: 200},
		{method: "GET", path: "/readyz", status: 200},
	}},
	{name: "a user with limits", opts: statesrv.HandlerOptions{Auth: readerOf("team")}, steps: []step{
		{method: "GET", path: "/states/team", status: 404},
		{method: "POST", path: "/states/team", body: doc(1, "l"), status: 403, fault: "may read state team, but neither lock nor change it"},
		{method: "LOCK", path: "/states/team", body: lockA, status: 403, fault: "may read state team"},
		{method: "GET", path: "/states/other", status: 403, fault: "has no right to state other"},
		{method: "GET", path: "/states", status: 200, want: `={"states":[]}`},
	}},
}

// readerOf is a user who may read one state.
type readerOf string

func (r readerOf) Authenticate(*http.Request) (statesrv.Identity, error) {
	return statesrv.Identity{Name: "reader", May: func(state string, write bool) bool { return state == string(r) && !write }}, nil
}

func TestProtocol(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			states := statesrv.NewStates(memory.New(), sc.rules)
			server := httptest.NewServer(statesrv.NewHandler(states, sc.opts))
			defer server.Close()
			for i, st := range sc.steps {
				st.run(t, i+1, server)
			}
		})
	}
}

// A list has only the states that the user may read.
func TestListIsForItsReader(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	for _, name := range []string{"other", "team", "zoo"} {
		mustWrite(t, states, name, "", doc(1, "l"))
	}
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{Auth: readerOf("team")}))
	defer server.Close()
	_, body := send(t, server.URL+"/states", "GET", "", nil)
	if strings.Count(body, `"name":`) != 1 || !strings.Contains(body, `"name":"team"`) {
		t.Errorf("list is %s", body)
	}
}

func (st step) run(t *testing.T, number int, server *httptest.Server) {
	t.Helper()
	resp, body := send(t, server.URL+st.path, st.method, st.body, st.header)
	what := fmt.Sprintf("step %d, %s %.80s", number, st.method, st.path)
	if resp.StatusCode != st.status {
		t.Fatalf("%s: status %d, %q; want %d", what, resp.StatusCode, body, st.status)
	}
	if whole, ok := strings.CutPrefix(st.want, "="); ok && strings.TrimSuffix(body, "\n") != strings.TrimSuffix(whole, "\n") {
		t.Errorf("%s: body %q, want %q", what, body, whole)
	} else if !ok && !strings.Contains(body, st.want) {
		t.Errorf("%s: body %q, want %q in it", what, body, st.want)
	}
	fault := resp.Header.Get(statesrv.ErrorHeader)
	if (fault != "") != (st.status >= 400) || !strings.Contains(fault, st.fault) {
		t.Errorf("%s: error header %q, want %q in it", what, fault, st.fault)
	}
	if st.status == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("%s: no WWW-Authenticate", what)
	}
}

// send sends a request with the path as it is.
func send(t *testing.T, url, method, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

func md5Header(body string) http.Header {
	sum := md5.Sum([]byte(body))
	return http.Header{"Content-Md5": {base64.StdEncoding.EncodeToString(sum[:])}}
}

func basic(user, password string) http.Header {
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}
}
