package web

import (
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/captf/captf-runner/runner/statesrv"
)

// frame is what every page has.
type frame struct {
	Title string
	User  string
	Admin bool // the page may change things
	Done  string
}

func (p *pages) frame(r request, title string) frame {
	return frame{Title: title, User: r.who.Name, Admin: p.opts.Admin, Done: done(r)}
}

// done says what was just done, from the address that follows a change.
func done(r request) string {
	switch {
	case r.URL.Query().Get("done") == "unlock":
		return "The lock is released."
	case r.URL.Query().Get("done") == "restore":
		return "The version is restored."
	}
	return ""
}

type errorView struct {
	frame
	Status  int
	Message string
}

// parse reads the templates: one for each page, in the same frame.
func parse(now func() time.Time) map[string]*template.Template {
	funcs := template.FuncMap{
		"ago":   func(t time.Time) string { return ago(now().Sub(t)) },
		"age":   func(t time.Time) string { return span(now().Sub(t)) },
		"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"bytes": size,
		"op":    operation,
		"id":    versionID,
		"url":   stateURL,
		"prev":  func(n int) int { return n - 1 },
	}
	all := map[string]*template.Template{}
	for _, name := range []string{"states", "state", "diff", "error"} {
		all[name] = template.Must(template.New("frame.html").Funcs(funcs).
			ParseFS(assets, "assets/frame.html", "assets/"+name+".html"))
	}
	return all
}

func (p *pages) render(w http.ResponseWriter, status int, name string, view any) {
	var b strings.Builder
	if err := p.templates[name].Execute(&b, view); err != nil {
		p.opts.Log.Error("page", "name", name, "error", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(readable(b.String()))) // the reader is gone: nobody to tell
}

// readable replaces the characters in a page that nobody sees and that change how what follows is read: a name with
// one in it could turn the text behind it around.
func readable(page string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, page)
}

func stateURL(name string) string { return Path + "states/" + strings.ReplaceAll(name, "/", "%2F") }

// versionID is what is typed to restore a version: the first digits of its digest,
// so that nobody restores another content than the one that they looked at.
func versionID(v statesrv.Version) string {
	digest := hexDigest(v)
	return digest[:min(12, len(digest))]
}

func hexDigest(v statesrv.Version) string { return strings.TrimPrefix(v.Digest, "sha256:") }

// namesVersion reports whether an ID that was typed is a version's: the digits that
// the page shows, or more of them.
func namesVersion(id string, v statesrv.Version) bool {
	id = strings.ToLower(strings.TrimPrefix(id, "sha256:"))
	return len(id) >= len(versionID(v)) && strings.HasPrefix(hexDigest(v), id)
}

// operation is "apply" for a client's "OperationTypeApply".
func operation(s string) string {
	if name, ok := strings.CutPrefix(s, "OperationType"); ok {
		return strings.ToLower(name)
	}
	return s
}

func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

// span says a duration as people do.
func span(d time.Duration) string {
	seconds := int(max(d, 0).Seconds())
	switch minutes, hours, days := seconds/60, seconds/3600, seconds/86400; {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case hours < 48:
		return fmt.Sprintf("%d h %d min", hours, minutes%60)
	default:
		return fmt.Sprintf("%d days", days)
	}
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
