package kubernetes

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// A value of which a part is gone is no fault that passes: it is not there, and nothing of it is given away.
func TestPartIsGone(t *testing.T) {
	server := kubetest.Shared(t)
	_, direct := newLossy(t, server)
	s, err := Open(Options{Namespace: server.Namespace(t), Cluster: direct})
	if err != nil {
		t.Fatal(err)
	}
	rev, err := s.Create(t.Context(), "k", noise(3*partSize))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := split(rev)
	id, count, err := splitParts(text)
	if err != nil {
		t.Fatal(err)
	}
	part := partName(s.nameOf("k"), id, count-1)
	if err := s.secrets.Delete(t.Context(), part, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if body, err := s.Open(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open: %d bytes, %v; want an error that it is not there", body.Size, err)
	}
	if rec, err := s.Get(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %d bytes, %v; want an error that it is not there", len(rec.Data), err)
	}
}

// The API server answers 403 for a quota, too, which no right helps against.
func TestExplain(t *testing.T) {
	s := &Store{namespace: "ns"}
	forbidden := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New(why))
	}
	for want, err := range map[string]error{
		"the quota of namespace ns is used up":          forbidden("exceeded quota: q, requested: count/secrets=1"),
		"no access to Secrets of namespace ns":          forbidden("User \"u\" cannot get resource"),
		"no answer from the API server: Get \"https://": &url.Error{Op: "Get", URL: "https://host", Err: errors.New("refused")},
	} {
		if got := s.explain(err).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("explain: %s; want %s", got, want)
		}
	}
}
