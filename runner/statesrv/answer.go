package statesrv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s\n", data) // the client is gone: nobody to tell
	return nil
}

// writeError answers with a message that no client takes for a state.
func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set(ErrorHeader, headerText(message))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, message)
}

// fail answers an error. A refusal because of a lock has the holder as its body:
// without it a client neither waits nor tells who holds it.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	refusal := refusalOf(err)
	switch {
	case refusal == nil:
		h.fault(w, r, err)
	case refusal.Holder != nil:
		w.Header().Set(ErrorHeader, headerText(refusal.Message))
		if err := writeJSON(w, refusal.Status, refusal.Holder.Info); err != nil {
			h.fault(w, r, err)
		}
	default:
		writeError(w, refusal.Status, refusal.Message)
	}
}

// fault answers 503 what may pass, so that the client tries again, and 500 what does
// not. Clients repeat both, a few times, but people and monitors can tell them apart.
func (h *handler) fault(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusServiceUnavailable
	if errors.Is(err, ErrDamaged) {
		status = http.StatusInternalServerError
	}
	if !errors.Is(err, context.Canceled) {
		h.log.Error("fault", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
		h.onFault(err)
	}
	writeError(w, status, err.Error())
}

// headerText makes a message fit for a header: one line of ASCII, not too long.
func headerText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), 1024)]
}

// ExplainErrors adds ErrorHeader to answers of next that lack it, such as those that net/http gives by itself.
func ExplainErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&explainer{w}, r)
	})
}

type explainer struct{ http.ResponseWriter }

func (e *explainer) WriteHeader(status int) {
	if status >= 400 && e.Header().Get(ErrorHeader) == "" {
		e.Header().Set(ErrorHeader, explanation(status))
	}
	e.ResponseWriter.WriteHeader(status)
}

func explanation(status int) string {
	if status == http.StatusNotFound {
		return "there is no such path; a slash in a state's name is written %2F"
	}
	return strings.ToLower(http.StatusText(status))
}

// Unwrap is for http.ResponseController.
func (e *explainer) Unwrap() http.ResponseWriter { return e.ResponseWriter }
