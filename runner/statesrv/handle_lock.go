package statesrv

import (
	"net/http"
	"strconv"
)

func (h *handler) lock(w http.ResponseWriter, r request) error {
	body, err := readLock(w, r.Request)
	if err != nil {
		return h.refused(r, ActionLock, err)
	}
	held, err := h.states.Lock(r.Context(), r.name, body, r.by)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, held.Info)
}

// unlock releases a lock. ?force=true is the administrator's way, which statesrv
// force-unlock takes: it does not wait, and with ?any=true any lock will do.
func (h *handler) unlock(w http.ResponseWriter, r request) error {
	body, err := readLock(w, r.Request)
	if err != nil {
		return h.refused(r, ActionUnlock, err)
	}
	query := r.URL.Query()
	if query.Get("force") == "true" {
		broken, err := h.states.ForceUnlock(r.Context(), r.name, ForceUnlockRequest{
			ID: r.lockID(), Any: query.Get("any") == "true", Who: query.Get("who"), By: r.by,
		})
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, broken)
	}
	req := UnlockRequest{Body: body, ID: r.lockID(), By: r.by}
	// A client may unlock while its last write is still under way. Whoever sends
	// nothing but the ID is not that client, and does not wait.
	if info, err := req.info(); err == nil && !info.onlyID() {
		h.uploads.wait(r.Context(), upload{r.name, info.ID})
	}
	held, err := h.states.Unlock(r.Context(), r.name, req)
	if err == nil {
		w.Header().Set(UnchangedHeader, strconv.FormatBool(!held))
	}
	return err
}

func (h *handler) holder(w http.ResponseWriter, r request) error {
	held, err := h.states.Holder(r.Context(), r.name)
	if err != nil {
		return err
	}
	if held == nil {
		return notFound("state %s is not locked", r.name)
	}
	return writeJSON(w, http.StatusOK, held.Info)
}
