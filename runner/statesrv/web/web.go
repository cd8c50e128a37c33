package web

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
)

// Options change how a page works. The zero value is for use.
type Options struct {
	// Auth tells who sends a request; nil lets everybody in.
	Auth statesrv.Authenticator
	// Admin offers to release locks and to restore versions to those who may write.
	Admin bool
	// Log gets faults; nil discards them.
	Log *slog.Logger
	// OnRequest is told of every request once it is answered; nil means nobody.
	OnRequest func(statesrv.RequestRecord)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Path is where everything but the first page is.
const Path = "/web/"

//go:embed assets
var assets embed.FS

// New returns a handler for "/" and for everything below Path.
func New(states *statesrv.States, opts Options) http.Handler {
	p := &pages{states: states, opts: opts, diffs: make(chan struct{}, maxDiffs)}
	if p.opts.Auth == nil {
		p.opts.Auth = statesrv.Anyone{}
	}
	if p.opts.Log == nil {
		p.opts.Log = slog.New(slog.DiscardHandler)
	}
	if p.opts.Now == nil {
		p.opts.Now = time.Now
	}
	p.templates = parse(p.opts.Now)
	return statesrv.Record(statesrv.ExplainErrors(secure(p.routes())), opts.OnRequest)
}

// pages answers requests of people.
type pages struct {
	states    *statesrv.States
	opts      Options
	templates map[string]*template.Template
	diffs     chan struct{} // one token for each comparison under way
}

func (p *pages) routes() http.Handler {
	mux := http.NewServeMux()
	const state = Path + "states/{name}"
	mux.HandleFunc("GET /{$}", p.page("", "", p.list))
	mux.HandleFunc("GET "+state, p.page("name", "", p.state))
	mux.HandleFunc("GET "+state+"/diff", p.page("name", "", p.diff))
	if p.opts.Admin {
		mux.HandleFunc("POST "+state+"/unlock", sameOrigin(p.page("name", statesrv.ActionForceUnlock, p.unlock)))
		mux.HandleFunc("POST "+state+"/restore", sameOrigin(p.page("name", statesrv.ActionRestore, p.restore)))
	}
	files, err := fs.Sub(assets, "assets/static")
	if err != nil {
		panic(err) // a constant path of an embedded tree
	}
	static := http.StripPrefix(Path+"static/", http.FileServerFS(files))
	mux.Handle("GET "+Path+"static/", p.page("", "", func(w http.ResponseWriter, r request) error {
		static.ServeHTTP(w, r.Request)
		return nil
	}))
	return mux
}

// request is an authenticated request, about one state unless name is empty.
type request struct {
	*http.Request
	name string
	who  statesrv.Identity
}

// page lets an authenticated request through that may do it, and answers its error. what is "" for one that changes
// nothing.
func (p *pages) page(nameValue string, what statesrv.Action, do func(http.ResponseWriter, request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := p.opts.Auth.Authenticate(r)
		if err != nil {
			p.deny(w, r, err)
			return
		}
		req := request{Request: r, who: who}
		if nameValue != "" {
			req.name = r.PathValue(nameValue)
			err = statesrv.CheckName(req.name)
		}
		statesrv.Identify(r, who.Name, req.name)
		switch {
		case err != nil:
		case req.name != "" && !who.Allows(req.name, what != ""):
			err = p.states.Forbid(r.Context(), who, req.name, what, statesrv.CallerOf(r, who))
		default:
			err = do(w, req)
		}
		if err != nil {
			p.fail(w, req, err)
		}
	}
}

func (p *pages) deny(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	switch {
	case errors.Is(err, statesrv.ErrBadCredentials), errors.Is(err, statesrv.ErrNoCredentials):
		// Wrong ones are answered as none, or a browser that has remembered them never asks again.
		w.Header().Set("WWW-Authenticate", `Basic realm="statesrv", charset="UTF-8"`)
		status = http.StatusUnauthorized
	}
	p.opts.Log.Warn("denied", "method", r.Method, "path", r.URL.Path, "addr", r.RemoteAddr, "error", err)
	w.Header().Set(statesrv.ErrorHeader, http.StatusText(status))
	http.Error(w, err.Error(), status)
}

// fail shows an error as a page.
func (p *pages) fail(w http.ResponseWriter, r request, err error) {
	status := http.StatusServiceUnavailable
	var refusal *statesrv.Refusal
	switch {
	case errors.As(err, &refusal):
		status = refusal.Status
	case errors.Is(err, statesrv.ErrDamaged):
		status = http.StatusInternalServerError
	}
	if refusal == nil && !errors.Is(err, context.Canceled) {
		p.opts.Log.Error("fault", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	w.Header().Set(statesrv.ErrorHeader, http.StatusText(status))
	p.render(w, status, "error", errorView{frame: p.frame(r, "Not done"), Message: err.Error(), Status: status})
}
