package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
)

// A server that asks nobody who they are obeys no page whose name leads to loopback.
func TestOwnHost(t *testing.T) {
	open, users := &protection{}, &protection{auth: statesrv.NewOneUser("ann", "x")}
	for _, c := range []struct {
		listen  string
		protect *protection
		host    string
		want    int
	}{
		{"127.0.0.1", open, "evil.example", http.StatusForbidden},
		{"127.0.0.1", open, "evil.example:7371", http.StatusForbidden},
		{"::1", open, "127.0.0.1.evil.example", http.StatusForbidden},
		{"localhost", open, "localhost.evil.example", http.StatusForbidden},
		{"127.0.0.1", open, "10.0.0.1:7371", http.StatusForbidden},
		{"127.0.0.1", open, "127.0.0.1:7371", http.StatusOK},
		{"127.0.0.1", open, "127.8.9.1", http.StatusOK},
		{"127.0.0.1", open, "LocalHost.:7371", http.StatusOK},
		{"::1", open, "[::1]:7371", http.StatusOK},
		{"::1", open, "[::1]", http.StatusOK},
		{"127.0.0.1", open, "", http.StatusOK},
		{"127.0.0.1", users, "states.example", http.StatusOK}, // behind a proxy
		{"0.0.0.0", open, "states.example", http.StatusOK},
	} {
		s := &server{opts: serveOptions{host: c.listen}, protect: c.protect}
		h := s.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r := httptest.NewRequest(http.MethodDelete, "/states/s", nil)
		r.Host = c.host
		r.Header.Set("Origin", "http://"+c.host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if said := w.Header().Get(statesrv.ErrorHeader) != ""; w.Code != c.want || said != (c.want == http.StatusForbidden) {
			t.Errorf("listening on %s, asked as %q: %d, with a message: %t; want %d", c.listen, c.host, w.Code, said, c.want)
		}
	}
}
