package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

func TestAddresses(t *testing.T) {
	for _, address := range []string{"http://h/states/s", "https://h:1/states/a%2Fb", "http://h/behind/a/proxy/states/s"} {
		if _, err := client.NewState(address, client.Options{}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"", "s", "ftp://h/states/s", "http:///states/s", "http://h", "http://h/states/", "http://h/s",
		"http://h/states/a/b", "http://h/states/s?ID=x", "http://ann:pw@h/states/s", "http://h/states/%zz"} {
		if s, err := client.NewState(address, client.Options{}); err == nil {
			t.Errorf("%q was accepted: %v", address, s)
		}
	}
}

// The path of a proxy and the escaped name reach the server as they are.
func TestPaths(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.EscapedPath()
		w.Write([]byte("{}"))
	}))
	defer server.Close()
	s, err := client.NewState(server.URL+"/proxy/states/a%2Fb", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Status(t.Context()); err != nil || got != "/proxy/states/a%2Fb/status" {
		t.Errorf("asked for %q, %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		message string
		body    string
		refusal bool
		holder  string
	}{
		{"held", 423, "locked", `{"ID":"a"}`, true, "a"},
		{"refused", 409, "older", "older\n", true, ""},
		{"fault", 503, "disk full", "disk full\n", false, ""},
		{"no state server", 404, "", "<html>", false, ""},
		{"no state server, but a lock", 423, "", `{"ID":"a"}`, false, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.message != "" {
				w.Header().Set(statesrv.ErrorHeader, c.message)
			}
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		}))
		s, err := client.NewState(server.URL+"/states/s", client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Lock(t.Context(), statesrv.LockInfo{ID: "b"})
		server.Close()
		var r *statesrv.Refusal
		if err == nil || errors.As(err, &r) != c.refusal {
			t.Errorf("%s: error %v, want a refusal: %v", c.name, err, c.refusal)
			continue
		}
		if c.refusal && (r.Status != c.status || r.Message != c.message || (r.Holder != nil) != (c.holder != "")) {
			t.Errorf("%s: refusal %+v", c.name, r)
		}
	}
}

// Who reads that a fault may pass tries again: damage does not pass.
func TestDamageIsNoPassingFault(t *testing.T) {
	for status, wanted := range map[int]bool{http.StatusInternalServerError: true, http.StatusServiceUnavailable: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(statesrv.ErrorHeader, "state s: it is so")
			w.WriteHeader(status)
		}))
		s, err := client.NewState(server.URL+"/states/s", client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Pull(t.Context(), 0)
		server.Close()
		if err == nil || errors.Is(err, statesrv.ErrDamaged) != wanted || strings.Contains(err.Error(), "may pass") == wanted ||
			!strings.Contains(err.Error(), "state s: it is so") {
			t.Errorf("%d gives %v, want damage: %v", status, err, wanted)
		}
	}
}

// An answer that is a success but no JSON comes from something else.
func TestForeignSuccess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }))
	defer server.Close()
	s, err := client.NewState(server.URL+"/states/s", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := s.Status(t.Context()); err == nil {
		t.Errorf("status is %+v", st)
	}
}
