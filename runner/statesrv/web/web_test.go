package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
	"github.com/captf/captf-runner/runner/statesrv/web"
)

// auth is an Authenticator of users whose password is their name: "reader" may not
// write, "team" may use states that start with "team/" only.
type auth struct{}

func (auth) Authenticate(r *http.Request) (statesrv.Identity, error) {
	name, password, ok := r.BasicAuth()
	switch {
	case !ok:
		return statesrv.Identity{}, statesrv.ErrNoCredentials
	case name != password:
		return statesrv.Identity{}, statesrv.ErrBadCredentials
	}
	return statesrv.Identity{Name: name, May: func(state string, write bool) bool {
		return (name != "reader" || !write) && (name != "team" || strings.HasPrefix(state, "team/"))
	}}, nil
}

type page struct {
	t      *testing.T
	states *statesrv.States
	url    string
}

func start(t *testing.T, admin bool) page {
	t.Helper()
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(web.New(states, web.Options{Auth: auth{}, Admin: admin}))
	t.Cleanup(server.Close)
	p := page{t, states, server.URL}
	for _, name := range []string{"prod", "team/net"} {
		p.write(name, 1, `"a"`)
		p.write(name, 2, `"b"`)
	}
	if _, err := states.Lock(t.Context(), "prod", []byte(`{"ID":"id-1","Who":"holder"}`), statesrv.Caller{}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p page) write(name string, serial int, size string) {
	p.t.Helper()
	body := fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"l","resources":[{"mode":"managed","type":"x_y","name":"z",`+
		`"provider":"provider[\"example.org/x/x\"]","instances":[{"schema_version":0,"attributes":{"size":%s}}]}]}`, serial, size)
	if _, err := p.states.Write(p.t.Context(), name, statesrv.WriteRequest{Body: body}); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends a request as a browser does; origin is "" for what a program sends. It checks that an error has its header.
func (p page) ask(user, method, path, origin string, form url.Values) (*http.Response, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, user)
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 && resp.Header.Get(statesrv.ErrorHeader) == "" {
		p.t.Errorf("%s %s: %s without %s", method, path, resp.Status, statesrv.ErrorHeader)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp, string(text)
}

func TestReading(t *testing.T) {
	p := start(t, false)
	for _, c := range []struct {
		user, path string
		status     int
		has, not   string
	}{
		{"", "/", 401, "credentials", "prod"},
		{"", "/web/static/style.css", 401, "", "color"},
		{"anna", "/", 200, "holder", ""},
		{"team", "/", 200, "team/net", "prod"},
		{"team", "/web/states/prod", 403, "no right", "holder"},
		{"team", "/web/states/prod/diff?a=1&b=2", 403, "no right", "size"},
		{"team", "/web/states/team%2Fnet", 200, "Version 2", "prod"},
		{"anna", "/web/states/prod?before=2", 200, "Version 1", "li>2"},
		{"anna", "/web/states/prod/diff?a=2&b=1", 200, "&#34;b&#34;", ""},
		{"anna", "/web/states/prod/diff?a=1&b=1", 400, "two different", ""},
		{"anna", "/web/states/prod/diff", 400, "two different", ""},
		{"anna", "/web/states/prod/diff?a=1&b=9", 404, "no version 9", ""},
		{"anna", "/web/states/none", 404, "no state none", ""},
		{"anna", "/web/states/a%20b", 400, "letters", ""},
		{"anna", "/web/nothing", 404, "", ""},
		{"anna", "/web/static/live.js", 200, "data-live", ""},
		{"anna", "/web/static/../frame.html", 404, "", "define"},
	} {
		resp, text := p.ask(c.user, http.MethodGet, c.path, "", nil)
		if resp.StatusCode != c.status && !(c.status == 404 && resp.StatusCode == 307) {
			t.Errorf("%s %s: %d, want %d", c.user, c.path, resp.StatusCode, c.status)
		}
		if !strings.Contains(text, c.has) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s %s: want %q and not %q in %s", c.user, c.path, c.has, c.not, text)
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s: Content-Security-Policy is %q", c.path, csp)
		}
	}
}

// TestChanging: who may, from where, and with which ID.
// TestUnseenCharacters: a name cannot turn the text behind it around, nor bring control characters.
func TestUnseenCharacters(t *testing.T) {
	p := start(t, false)
	record := []byte(`{"ID":"id-2","Who":"ann\u202e\u2066\u200f\u0007\u001b[31m zoë"}`)
	if _, err := p.states.Lock(t.Context(), "team/net", record, statesrv.Caller{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/web/states/team%2Fnet"} {
		_, text := p.ask("anna", http.MethodGet, path, "", nil)
		if want := "ann\ufffd\ufffd\ufffd\ufffd\ufffd[31m zoë"; !strings.Contains(text, want) {
			t.Errorf("%s: want %q in %s", path, want, text)
		}
	}
	if _, text := p.ask("anna", http.MethodGet, "/web/states/prod", "", nil); !strings.Contains(text, "Compare") {
		t.Error("two versions cannot be compared")
	}
	p.write("one", 1, `"a"`)
	if _, text := p.ask("anna", http.MethodGet, "/web/states/one", "", nil); strings.Contains(text, "Compare") {
		t.Error("one version can be compared")
	}
}

func TestChanging(t *testing.T) {
	for _, c := range []struct {
		name   string
		admin  bool
		user   string
		origin string // "own" for the server's own page
		id     string
		status int
	}{
		{"own page", true, "anna", "own", "id-1", 303},
		{"read-only server", false, "anna", "own", "id-1", 404},
		{"read-only user", true, "reader", "own", "id-1", 403},
		{"user of other states", true, "team", "own", "id-1", 403},
		{"nobody", true, "", "own", "id-1", 401},
		{"another page", true, "anna", "http://evil.example.org", "id-1", 403},
		{"a hidden origin", true, "anna", "null", "id-1", 403},
		{"no page", true, "anna", "", "id-1", 403},
		{"wrong ID", true, "anna", "own", "id-2", 409},
		{"no ID", true, "anna", "own", " ", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, c.admin)
			if c.origin == "own" {
				c.origin = p.url
			}
			resp, text := p.ask(c.user, http.MethodPost, "/web/states/prod/unlock", c.origin, url.Values{"id": {c.id}})
			if resp.StatusCode != c.status {
				t.Errorf("%d, want %d: %s", resp.StatusCode, c.status, text)
			}
			held, err := p.states.Holder(t.Context(), "prod")
			if err != nil || (held == nil) != (c.status == 303) {
				t.Errorf("the lock is %v, %v", held, err)
			}
			if want := strings.Contains(c.name, "user"); p.forbidden("prod") != want {
				t.Errorf("an event tells of a user who may not: %v, want %v", !want, want)
			}
		})
	}
}

// forbidden reports whether an event tells of a user who tried what that user may not.
func (p page) forbidden(name string) bool {
	p.t.Helper()
	events, err := p.states.LastEvents(p.t.Context(), name, 1)
	if err != nil {
		p.t.Fatal(err)
	}
	last := events.Events[0]
	return last.Action == statesrv.ActionForceUnlock && last.Status == http.StatusForbidden && last.By.User != ""
}

// TestRestoring: the typed ID is that of the version's content.
func TestRestoring(t *testing.T) {
	p := start(t, true)
	v, err := p.states.Version(t.Context(), "team/net", 1)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(v.Digest, "sha256:")[:12]
	for _, c := range []struct {
		version, id string
		status      int
	}{{"2", id, 400}, {"1", id[:11], 400}, {"1", v.Digest + "0", 400}, {"2", v.Digest, 400}, {"x", id, 400}, {"9", id, 404}, {"1", id, 303}} {
		resp, text := p.ask("anna", http.MethodPost, "/web/states/team%2Fnet/restore", p.url, url.Values{"version": {c.version}, "id": {c.id}})
		if resp.StatusCode != c.status {
			t.Errorf("restore %s with %s: %d, want %d: %s", c.version, c.id, resp.StatusCode, c.status, text)
		}
	}
	st, err := p.states.Status(t.Context(), "team/net")
	if err != nil || st.Versions != 3 || st.Current.RestoredFrom != 1 || st.Current.Who != "anna" {
		t.Errorf("after the restore: %+v, %v", st, err)
	}
}

// Who would restore a version of a locked state is told what to do on the page.
func TestRestoreOfALockedState(t *testing.T) {
	p := start(t, true)
	v, err := p.states.Version(t.Context(), "team/net", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.states.Lock(t.Context(), "team/net", []byte(`{"ID":"x","Who":"bob@two"}`), statesrv.Caller{}); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(v.Digest, "sha256:")
	resp, text := p.ask("anna", http.MethodPost, "/web/states/team%2Fnet/restore", p.url, url.Values{"version": {"1"}, "id": {id}})
	if resp.StatusCode != http.StatusLocked || !strings.Contains(text, "bob@two") || !strings.Contains(text, "release the lock") ||
		strings.Contains(text, "--id") {
		t.Errorf("%d, want 423, the holder and what to do: %s", resp.StatusCode, text)
	}
}
