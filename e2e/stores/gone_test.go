package stores

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
)

// TestStoreIsRemoved: a store that is removed, emptied or made again under its server
// is never taken for one without states. A client that is told so begins an empty
// state, and makes all resources a second time.
func TestStoreIsRemoved(t *testing.T) {
	onPlaces(t, func(t *testing.T, p place) {
		s := newWatched(t, p)
		s.want(t, "at first", map[string]int{"/states/s": 200, "/states/other": 404, "/states": 200, "/readyz": 200})
		for _, step := range p.remove {
			if err := step.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			s.wantFault(t, step)
		}
		newWatched(t, p) // whoever starts a server anew begins with what is there
		s.want(t, "while another serves", map[string]int{"/states/other": 503, "/readyz": 503})
	})
}

// watched is a server that has stored the state s.
type watched struct {
	*process
	at string
}

func newWatched(t *testing.T, p place) *watched {
	t.Helper()
	server, portFile := serve(t, p.store, p.env[0]...)
	s := &watched{server, server.url(t, portFile)}
	if _, err := at(t, s.at, "s").Push(t.Context(), statesrv.WriteRequest{Body: stateOf(1)}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *watched) wantFault(t *testing.T, step removal) {
	t.Helper()
	// An API server learns of a namespace's end by a watch.
	s.waitFor(t, func() error { return s.get("/readyz", 503) })
	s.want(t, step.name, map[string]int{"/states/other": 503, "/states/other/status": 503, "/healthz": 200})
	if step.kept {
		s.want(t, step.name, map[string]int{"/states/s": 200, "/states": 200})
	} else {
		s.want(t, step.name, map[string]int{
			"/states/s": 503, "/states/s/versions": 503, "/states/s/versions/1": 503, "/states/s/events": 503, "/states/s/lock": 503, "/states": 503,
		})
	}
	var refusal *statesrv.Refusal
	if err := at(t, s.at, "other").Lock(t.Context(), statesrv.LockInfo{ID: "l"}); err == nil || errors.As(err, &refusal) {
		t.Errorf("%s: a lock gives %v, want a fault", step.name, err)
	}
}

func (s *watched) want(t *testing.T, when string, status map[string]int) {
	t.Helper()
	for path, want := range status {
		if err := s.get(path, want); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
}

// get is an error if the answer has not the status.
func (s *watched) get(path string, status int) error {
	resp, err := httpClient.Get(s.at + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != status {
		err = fmt.Errorf("GET %s gives %s, want %d: %.300s", path, resp.Status, status, body)
	}
	return err
}
