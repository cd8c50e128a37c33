package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv"
)

const (
	statesOnPage   = 100
	versionsOnPage = 25
	eventsOnPage   = 30
)

type listView struct {
	frame
	States []statesrv.Status
	First  bool
	Next   string
	Locked int
}

// list shows the states that the user may read.
func (p *pages) list(w http.ResponseWriter, r request) error {
	after := r.URL.Query().Get("after")
	page, err := p.states.List(r.Context(), after, statesOnPage, func(name string) bool { return r.who.Allows(name, false) })
	if err != nil {
		return err
	}
	v := listView{frame: p.frame(r, "States"), States: page.States, First: after == "", Next: url.QueryEscape(page.Next)}
	for _, s := range page.States {
		if s.Lock != nil {
			v.Locked++
		}
	}
	p.render(w, http.StatusOK, "states", v)
	return nil
}

type stateView struct {
	frame
	statesrv.Status
	History []statesrv.Version
	Older   int
	Newest  bool // the history starts with the newest version
	Events  []statesrv.Event
	MayAct  bool
}

// state shows one state: its lock, its history and its last events.
func (p *pages) state(w http.ResponseWriter, r request) error {
	before, err := strconv.Atoi(r.URL.Query().Get("before"))
	if err != nil || before < 0 {
		before = 0
	}
	st, err := p.states.Status(r.Context(), r.name)
	if err != nil {
		return err
	}
	if st.Versions == 0 && st.Lock == nil {
		return &statesrv.Refusal{Status: http.StatusNotFound, Message: "there is no state " + r.name}
	}
	versions, err := p.states.Versions(r.Context(), r.name, before, versionsOnPage)
	if err != nil {
		return err
	}
	events, err := p.states.LastEvents(r.Context(), r.name, eventsOnPage)
	if err != nil {
		return err
	}
	slices.Reverse(events.Events) // newest first
	p.render(w, http.StatusOK, "state", stateView{
		frame: p.frame(r, r.name), Status: st, History: versions.Versions, Older: versions.Next, Newest: before == 0,
		Events: events.Events, MayAct: p.opts.Admin && r.who.Allows(r.name, true),
	})
	return nil
}
