package statesrv

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

func (h *handler) versions(w http.ResponseWriter, r request) error {
	limit, err := pageLimit(r.URL.Query())
	if err != nil {
		return err
	}
	before, err := number(r.URL.Query(), "before", 0, 1<<53)
	if err != nil {
		return err
	}
	page, err := h.states.Versions(r.Context(), r.name, before, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}

func (h *handler) version(w http.ResponseWriter, r request) error {
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return badRequest("the version in the path is not a number")
	}
	c, err := h.states.ReadVersion(r.Context(), r.name, n)
	if err != nil {
		return err
	}
	return sendContent(w, r, c)
}

// events answers a page behind ?after=, or the last ?tail= events.
func (h *handler) events(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	limit, err := pageLimit(query)
	if err != nil {
		return err
	}
	tail, err := number(query, "tail", 0, maxLimit)
	if err != nil {
		return err
	}
	var page EventPage
	if tail > 0 {
		page, err = h.states.LastEvents(r.Context(), r.name, tail)
	} else {
		page, err = h.states.Events(r.Context(), r.name, query.Get("after"), limit)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}

func (h *handler) status(w http.ResponseWriter, r request) error {
	st, err := h.states.Status(r.Context(), r.name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, st)
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	who, err := h.auth.Authenticate(r)
	if err != nil {
		h.deny(w, r, err)
		return
	}
	noteOf(r).identify(who.Name, "")
	limit, err := pageLimit(r.URL.Query())
	var page StatusPage
	if err == nil {
		page, err = h.states.List(r.Context(), r.URL.Query().Get("after"), limit,
			func(name string) bool { return who.Allows(name, false) })
	}
	if err == nil {
		err = writeJSON(w, http.StatusOK, page)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// readyTime is how long a store may take to answer: who asks does not wait for long.
const readyTime = 5 * time.Second

func (h *handler) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	err := h.states.Ready(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the store has not answered for %s: %w", readyTime, err)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	fmt.Fprintln(w, "ok")
}

// pageLimit reads how many entries a page may have.
func pageLimit(query url.Values) (int, error) {
	n, err := number(query, "limit", defaultLimit, maxLimit)
	if err == nil && n == 0 {
		return 0, badRequest("?limit=0: want 1 or more")
	}
	return n, err
}

// number reads a parameter from 0 to top; absent gives otherwise.
func number(query url.Values, name string, otherwise, top int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badRequest(fmt.Sprintf("?%s= is not a number, or is below 0", name))
	}
	return min(n, top), nil
}
