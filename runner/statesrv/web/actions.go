package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/runner/statesrv"
)

const maxForm = 8 << 10

// unlock releases the lock whose ID was typed.
func (p *pages) unlock(w http.ResponseWriter, r request) error {
	id, err := typed(w, r)
	if err != nil {
		return err
	}
	_, err = p.states.ForceUnlock(r.Context(), r.name, statesrv.ForceUnlockRequest{
		ID: id, Who: r.who.Name, By: statesrv.CallerOf(r.Request, r.who),
	})
	if err != nil {
		return err
	}
	return back(w, r, "unlock")
}

// restore restores a version, if the ID that was typed is the version's.
func (p *pages) restore(w http.ResponseWriter, r request) error {
	id, err := typed(w, r)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PostFormValue("version"))
	if err != nil {
		return badRequest("the version is no number")
	}
	v, err := p.states.Version(r.Context(), r.name, n)
	if err != nil {
		return err
	}
	if !namesVersion(id, v) {
		return badRequest("this is not the ID of version " + strconv.Itoa(n) + ": nothing was restored")
	}
	_, err = p.states.Restore(r.Context(), r.name, statesrv.RestoreRequest{
		Version: n, Who: r.who.Name, By: statesrv.CallerOf(r.Request, r.who),
	})
	var refusal *statesrv.Refusal
	if errors.As(err, &refusal) && refusal.Holder != nil {
		return &statesrv.Refusal{Status: refusal.Status, Message: "the state is locked: " + refusal.Holder.String() +
			"; wait until it is free, or release the lock if its holder is gone: nothing was restored"}
	}
	if err != nil {
		return err
	}
	return back(w, r, "restore")
}

// typed returns the ID in a form.
func typed(w http.ResponseWriter, r request) (string, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return "", badRequest("the form did not arrive: " + err.Error())
	}
	id := strings.TrimSpace(r.PostFormValue("id"))
	if id == "" {
		return "", badRequest("no ID was typed: nothing was changed")
	}
	return id, nil
}

// back shows the state again; a reload repeats nothing.
func back(w http.ResponseWriter, r request, done string) error {
	http.Redirect(w, r.Request, stateURL(r.name)+"?done="+done, http.StatusSeeOther)
	return nil
}

func badRequest(message string) *statesrv.Refusal {
	return &statesrv.Refusal{Status: http.StatusBadRequest, Message: message}
}
