package cli

import (
	"net"
	"net/http"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv"
)

// guard refuses what a foreign page makes a browser send.
func (s *server) guard(next http.Handler) http.Handler {
	next = ownOrigin(next)
	if s.protect.auth == nil && loopback(s.opts.host) {
		next = ownHost(next)
	}
	return next
}

// ownOrigin refuses what a page of another origin makes a browser send: the browser
// adds the credentials that it has for this server. Other clients say no origin.
func ownOrigin(next http.Handler) http.Handler {
	check := http.NewCrossOriginProtection()
	check.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		forbid(w, "this request comes from a page of another origin")
	}))
	return check.Handler(next)
}

// ownHost refuses names other than those of loopback. A page's own name may lead to
// 127.0.0.1 when it is looked up again: its requests are then of one origin, and where
// nobody has to log in nothing else tells them from a person's. No browser leaves
// the name out.
func ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !loopback(hostname(r.Host)) {
			forbid(w, "this server has no users and answers as localhost, 127.0.0.1 or [::1] only: use such an address, or start it with --users or --user")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname returns a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func forbid(w http.ResponseWriter, message string) {
	w.Header().Set(statesrv.ErrorHeader, message)
	http.Error(w, message, http.StatusForbidden)
}
