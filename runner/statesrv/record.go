package statesrv

import (
	"context"
	"net/http"
	"time"
)

// RequestRecord is what became of one request. It has nothing secret: no query,
// whose ?ID= is a capability, and no body.
type RequestRecord struct {
	Method, Path string
	// Route is the pattern of the path, such as "/states/{name}", "" for no such path.
	Route string
	// User and State are empty when the request did not get so far.
	User, State string
	Addr, Agent string
	Status      int
	// Sent is the bytes of the answer's body.
	Sent     int64
	Duration time.Duration
}

// Record tells tell of every request that next has answered; nil means nobody.
func Record(next http.Handler, tell func(RequestRecord)) http.Handler {
	if tell == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, n := time.Now(), &note{}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		out := &recorder{ResponseWriter: w}
		defer func() { // also when a damaged answer is cut
			tell(RequestRecord{
				Method: r.Method, Path: r.URL.EscapedPath(), Route: routeOf(r.Pattern),
				User: n.user, State: n.state, Addr: r.RemoteAddr, Agent: r.UserAgent(),
				Status: out.status(), Sent: out.sent, Duration: time.Since(start),
			})
		}()
		next.ServeHTTP(out, r)
	})
}

// routeOf returns a pattern without its method.
func routeOf(pattern string) string {
	for i := range len(pattern) {
		if pattern[i] == '/' {
			return pattern[i:]
		}
	}
	return ""
}

// note is what a handler finds out about its request.
type note struct{ user, state string }

type noteKey struct{}

// noteOf returns the request's note, or one that nobody reads.
func noteOf(r *http.Request) *note {
	if n, ok := r.Context().Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// Identify notes, for Record, whose request it is and about which state.
func Identify(r *http.Request, user, state string) { noteOf(r).identify(user, state) }

func (n *note) identify(user, state string) { n.user, n.state = user, state }

// recorder remembers what is answered.
type recorder struct {
	http.ResponseWriter
	code int
	sent int64
}

func (r *recorder) WriteHeader(status int) {
	if r.code == 0 && status >= 200 {
		r.code = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.sent += int64(n)
	return n, err
}

// status is 200 for a handler that said nothing else.
func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
