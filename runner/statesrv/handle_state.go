package statesrv

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Headers that tell of the version that an answer is about.
const (
	VersionHeader   = "X-Statesrv-Version"
	SerialHeader    = "X-Statesrv-Serial"
	UnchangedHeader = "X-Statesrv-Unchanged" // "true": the bytes were stored already, or no lock was held
)

func (h *handler) get(w http.ResponseWriter, r request) error {
	c, err := h.states.Read(r.Context(), r.name)
	if err != nil {
		return err
	}
	return sendContent(w, r, c)
}

// sendContent streams a version. Bytes that turn out damaged after the first were
// sent cut the connection, so that no client takes them for a state.
func sendContent(w http.ResponseWriter, r request, c *Content) error {
	defer c.Close()
	buffer := make([]byte, 32<<10)
	n, err := io.ReadFull(c, buffer)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return err
	}
	contentHeaders(w.Header(), c.Version)
	if r.Method == http.MethodHead {
		return nil
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(uploadTime))
	if _, err := w.Write(buffer[:n]); err != nil {
		return nil // the client is gone
	}
	if _, err := io.CopyBuffer(w, c, buffer); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func contentHeaders(h http.Header, v Version) {
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.FormatInt(v.Bytes, 10))
	h.Set("Cache-Control", "no-store")
	h.Set("ETag", `"`+v.Digest+`"`)
	versionHeaders(h, v)
}

func versionHeaders(h http.Header, v Version) {
	h.Set(VersionHeader, strconv.Itoa(v.Number))
	h.Set(SerialHeader, strconv.FormatUint(v.Serial, 10))
}

func (h *handler) post(w http.ResponseWriter, r request) error {
	defer h.uploads.begin(upload{r.name, r.lockID()})()
	sum, err := contentMD5(r.Request)
	body := h.buffers.take()
	if err == nil {
		var done func()
		done, err = readBody(w, r.Request, h.maxBody, h.large, body)
		defer done()
	}
	if err != nil {
		return h.refused(r, ActionWrite, err)
	}
	written, err := h.states.Write(r.Context(), r.name, WriteRequest{
		Body: body.Bytes(), ID: r.lockID(), MD5: sum, Force: r.URL.Query().Get("force") == "true", By: r.by,
	})
	if err != nil {
		return err // and a store may still be sending the body
	}
	h.buffers.give(body)
	versionHeaders(w.Header(), written.Version)
	w.Header().Set(UnchangedHeader, strconv.FormatBool(written.Unchanged))
	return writeJSON(w, http.StatusOK, written.Version)
}

// refused records a refusal that came before the rules could.
func (h *handler) refused(r request, a Action, err error) error {
	if refusal := refusalOf(err); refusal != nil {
		ev := h.states.newEvent(a, r.by)
		ev.LockID = clip(r.lockID())
		h.states.recordRefusal(r.Context(), r.name, ev, refusal)
	}
	return err
}

func (h *handler) delete(w http.ResponseWriter, r request) error {
	return h.states.Delete(r.Context(), r.name, DeleteRequest{ID: r.lockID(), By: r.by})
}

func (h *handler) restore(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	number, err := strconv.Atoi(query.Get("version"))
	if err != nil {
		return h.refused(r, ActionRestore, badRequest("?version= is not a number"))
	}
	v, err := h.states.Restore(r.Context(), r.name, RestoreRequest{
		Version: number, ID: r.lockID(), Who: query.Get("who"), By: r.by,
	})
	if err != nil {
		return err
	}
	versionHeaders(w.Header(), v)
	return writeJSON(w, http.StatusOK, v)
}
