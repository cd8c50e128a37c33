package kubernetes

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// What is in front of the API server and does not reach it answers with a page. That is no word about a record: it is
// neither absent nor removed.
func TestPageInPlaceOfAnAnswer(t *testing.T) {
	front := httptest.NewServer(http.NotFoundHandler())
	defer front.Close()
	s, err := Open(Options{Namespace: "ns", Cluster: kube.Config{Host: front.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "s/head.json"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v, want that there is no answer", err)
	}
	if _, err := s.Open(t.Context(), "s/versions/1"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("open: %v, want that there is no answer", err)
	}
	if err := s.Remove(t.Context(), "s/versions/1"); err == nil {
		t.Error("remove: done, without an answer")
	}
	for _, err := range s.Lines(t.Context(), "s/events.jsonl", "") {
		if err == nil {
			t.Error("a line of nothing")
		}
		return
	}
	t.Error("the log is empty, without an answer")
}
