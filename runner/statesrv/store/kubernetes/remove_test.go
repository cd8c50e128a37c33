package kubernetes

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/kube"
)

// A record may be made again while the parts of the old one are removed, as by the holder of a lock beside a server
// that takes back what it has written without one.
func TestRemoveBesideACreation(t *testing.T) {
	server := kubetest.Shared(t)
	l, direct := newLossy(t, server)
	namespace := server.Namespace(t)
	other, err := Open(Options{Namespace: namespace, Cluster: direct})
	if err != nil {
		t.Fatal(err)
	}
	want := noise(2 * partSize)
	var once sync.Once
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.ServeHTTP(w, r)
		if r.Method == http.MethodDelete { // the record is gone, its parts are not
			once.Do(func() {
				if _, err := other.Create(t.Context(), "k", want); err != nil {
					t.Error(err)
				}
			})
		}
	}))
	defer front.Close()
	s, err := Open(Options{Namespace: namespace, Cluster: kube.Config{Host: front.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "k", noise(3*partSize)); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if rec, err := other.Get(t.Context(), "k"); err != nil || !bytes.Equal(rec.Data, want) {
		t.Errorf("the new record has %d bytes, %v; want %d", len(rec.Data), err, len(want))
	}
}
