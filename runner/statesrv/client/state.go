package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv"
)

// List returns a page of the states whose names follow after.
func (s *Server) List(ctx context.Context, after string, limit int) (page statesrv.StatusPage, err error) {
	query := url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}
	_, err = s.do(ctx, call{method: http.MethodGet, path: "/states", query: query, out: &page})
	return page, err
}

// Status returns the status of the state.
func (s *State) Status(ctx context.Context) (st statesrv.Status, err error) {
	_, err = s.do(ctx, call{method: http.MethodGet, path: s.path + "/status", out: &st})
	return st, err
}

// Lock asks for the lock.
func (s *State) Lock(ctx context.Context, info statesrv.LockInfo) error {
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	_, err = s.do(ctx, call{method: "LOCK", path: s.path, body: body})
	return err
}

// Unlock releases the lock with the ID of info; held is false if there was none.
func (s *State) Unlock(ctx context.Context, info statesrv.LockInfo) (held bool, err error) {
	body, err := json.Marshal(info)
	if err != nil {
		return false, err
	}
	header, err := s.do(ctx, call{method: "UNLOCK", path: s.path, body: body})
	return err == nil && header.Get(statesrv.UnchangedHeader) != "true", err
}

// ForceUnlock releases a lock in the administrator's way and returns it, nil if
// none was held.
func (s *State) ForceUnlock(ctx context.Context, req statesrv.ForceUnlockRequest) (broken *statesrv.Lock, err error) {
	query := url.Values{"force": {"true"}, "ID": {req.ID}, "any": {strconv.FormatBool(req.Any)}, "who": {req.Who}}
	_, err = s.do(ctx, call{method: "UNLOCK", path: s.path, query: query, out: &broken})
	return broken, err
}

// Push stores a state. The By of the request is not sent.
func (s *State) Push(ctx context.Context, req statesrv.WriteRequest) (w statesrv.Written, err error) {
	query := url.Values{}
	if req.ID != "" {
		query.Set("ID", req.ID)
	}
	if req.Force {
		query.Set("force", "true")
	}
	header, err := s.do(ctx, call{method: http.MethodPost, path: s.path, query: query, body: req.Body, out: &w.Version})
	w.Unchanged = err == nil && header.Get(statesrv.UnchangedHeader) == "true"
	return w, err
}

// Pull returns the bytes of a version, of the current one for 0. The caller closes
// them. Bytes that arrive cut short end in an error.
func (s *State) Pull(ctx context.Context, version int) (io.ReadCloser, error) {
	path := s.path
	if version != 0 {
		path += "/versions/" + strconv.Itoa(version)
	}
	resp, err := s.send(ctx, call{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Versions returns a page of the history, newest first; see States.Versions.
func (s *State) Versions(ctx context.Context, before, limit int) (page statesrv.VersionPage, err error) {
	query := url.Values{"before": {strconv.Itoa(before)}, "limit": {strconv.Itoa(limit)}}
	_, err = s.do(ctx, call{method: http.MethodGet, path: s.path + "/versions", query: query, out: &page})
	return page, err
}

// Events returns a page of the events, oldest first; see States.Events.
func (s *State) Events(ctx context.Context, after string, limit int) (page statesrv.EventPage, err error) {
	query := url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}
	_, err = s.do(ctx, call{method: http.MethodGet, path: s.path + "/events", query: query, out: &page})
	return page, err
}

// Restore brings back a version.
func (s *State) Restore(ctx context.Context, req statesrv.RestoreRequest) (v statesrv.Version, err error) {
	query := url.Values{"version": {strconv.Itoa(req.Version)}, "who": {req.Who}}
	if req.ID != "" {
		query.Set("ID", req.ID)
	}
	_, err = s.do(ctx, call{method: http.MethodPost, path: s.path + "/restore", query: query, out: &v})
	return v, err
}
