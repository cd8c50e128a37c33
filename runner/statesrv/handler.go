package statesrv

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// HandlerOptions change how a handler answers. The zero value is for use.
type HandlerOptions struct {
	// Auth tells who sends a request; nil lets everybody in.
	Auth Authenticator
	// MaxBody is the most bytes of a state; 0 means DefaultMaxBody.
	MaxBody int64
	// Log gets faults; nil discards them.
	Log *slog.Logger
	// OnFault is told of every fault of the store that a request was answered with; it has to be quick. nil means nobody.
	OnFault func(error)
	// OnRequest is told of every request once it is answered; it has to be quick.
	// nil means nobody.
	OnRequest func(RequestRecord)
}

// DefaultMaxBody is 64 MiB.
const DefaultMaxBody = 64 << 20

// ErrorHeader has the message of every error answer.
const ErrorHeader = "X-Statesrv-Error"

// NewHandler speaks the http backend's protocol for states, and the requests for
// people beside it: the table in the specification. Every answer with a status of
// 400 or more has ErrorHeader; 4xx is permanent, 5xx may pass.
func NewHandler(states *States, opts HandlerOptions) http.Handler {
	h := &handler{states: states, auth: opts.Auth, maxBody: opts.MaxBody, log: opts.Log, large: make(turns, largeBodies)}
	if h.auth == nil {
		h.auth = Anyone{}
	}
	if h.maxBody == 0 {
		h.maxBody = DefaultMaxBody
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.onFault = opts.OnFault; h.onFault == nil {
		h.onFault = func(error) {}
	}
	return Record(ExplainErrors(cleanAddresses(h.routes())), opts.OnRequest)
}

type handler struct {
	states  *States
	auth    Authenticator
	maxBody int64
	log     *slog.Logger
	onFault func(error)
	uploads uploads
	large   turns
	buffers buffers
}

func (h *handler) routes() *http.ServeMux {
	mux := http.NewServeMux()
	const state, lock = "/states/{name}", "/states/{name}/lock"
	read, write := h.reading, h.writing
	mux.HandleFunc("GET "+state, read(h.get))
	mux.HandleFunc("POST "+state, write(ActionWrite, h.post))
	mux.HandleFunc("PUT "+state, write(ActionWrite, h.post))
	mux.HandleFunc("DELETE "+state, write(ActionDelete, h.delete))
	mux.HandleFunc("LOCK "+state, write(ActionLock, h.lock))
	mux.HandleFunc("UNLOCK "+state, write(ActionUnlock, h.unlock))

	mux.HandleFunc("GET "+lock, read(h.holder))
	for _, method := range []string{"LOCK ", "POST ", "PUT "} {
		mux.HandleFunc(method+lock, write(ActionLock, h.lock))
	}
	for _, method := range []string{"UNLOCK ", "DELETE "} {
		mux.HandleFunc(method+lock, write(ActionUnlock, h.unlock))
	}

	mux.HandleFunc("GET "+state+"/versions", read(h.versions))
	mux.HandleFunc("GET "+state+"/versions/{number}", read(h.version))
	mux.HandleFunc("GET "+state+"/events", read(h.events))
	mux.HandleFunc("GET "+state+"/status", read(h.status))
	mux.HandleFunc("POST "+state+"/restore", write(ActionRestore, h.restore))
	mux.HandleFunc("GET /states", h.list)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
	return mux
}

// request is an authenticated request about one state.
type request struct {
	*http.Request
	name string
	by   Caller
}

func (r request) lockID() string { return r.URL.Query().Get("ID") }

type action func(w http.ResponseWriter, r request) error

func (h *handler) reading(do action) http.HandlerFunc { return h.authorized("", do) }

func (h *handler) writing(what Action, do action) http.HandlerFunc { return h.authorized(what, do) }

// authorized lets a request through to its action, and answers the action's error. what is "" for one that changes
// nothing.
func (h *handler) authorized(what Action, do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := h.auth.Authenticate(r)
		if err != nil {
			h.deny(w, r, err)
			return
		}
		name := r.PathValue("name")
		noteOf(r).identify(who.Name, name)
		if err := CheckName(name); err != nil {
			h.fail(w, r, err)
			return
		}
		by := CallerOf(r, who)
		if !who.Allows(name, what != "") {
			h.fail(w, r, h.states.Forbid(r.Context(), who, name, what, by))
			return
		}
		if err := do(w, request{r, name, by}); err != nil {
			h.fail(w, r, err)
		}
	}
}

// CallerOf is who sends a request, for the events.
func CallerOf(r *http.Request, who Identity) Caller {
	addr, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		addr = r.RemoteAddr
	}
	return Caller{User: who.Name, Addr: addr, Agent: r.UserAgent()}
}

func (h *handler) deny(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, ErrNoCredentials):
		w.Header().Set("WWW-Authenticate", `Basic realm="statesrv", charset="UTF-8"`)
		status = http.StatusUnauthorized
	case errors.Is(err, ErrBadCredentials):
		status = http.StatusForbidden
	}
	h.log.Warn("denied", "method", r.Method, "path", r.URL.Path, "addr", r.RemoteAddr, "error", err)
	writeError(w, status, err.Error())
}

// cleanAddresses refuses a path that ServeMux would redirect to another one, and a query that would be left out in
// part: without its lock ID a write counts as one of a client that does not lock, and the first of two IDs or versions
// may not be the one that was meant.
func cleanAddresses(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.EscapedPath()
		if p == "/states/" || strings.HasPrefix(p, "/states/") && path.Clean(p) != p {
			writeError(w, http.StatusBadRequest, "the path has an empty name, a double slash or dots; a slash in a state's name is %2F")
			return
		}
		if err := checkQuery(r.URL.RawQuery); err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fmt.Errorf("the query cannot be read: %w", err)
	}
	for name, values := range query {
		if len(values) > 1 {
			return fmt.Errorf("the query has %.64q more than once", name)
		}
	}
	return nil
}
