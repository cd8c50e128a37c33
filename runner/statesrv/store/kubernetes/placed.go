package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Claim implements store.Placed.
func (s *Store) Claim(ctx context.Context) error { return s.mark.Claim(ctx, s) }

// Present implements store.Placed. The Secrets of a namespace that is being deleted go
// one after another, in any order, so its mark alone shows nothing.
func (s *Store) Present(ctx context.Context) error {
	if err := s.namespaceStays(ctx); err != nil {
		return err
	}
	return s.mark.Present(ctx, s)
}

// namespaceTerminating is the cause that the API server gives.
const namespaceTerminating metav1.CauseType = "NamespaceTerminating"

// namespaceStays asks by a creation that is not carried out: reading the namespace
// itself would need a right beyond those on Secrets. A refusal for any reason but two is
// an answer as well: the namespace stays.
func (s *Store) namespaceStays(ctx context.Context) error {
	mark := &kube.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.nameOf(store.MarkKey)}, Type: secretType}
	_, err := s.secrets.Create(ctx, mark, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case apierrors.HasStatusCause(err, namespaceTerminating):
		return fmt.Errorf("the store is going: namespace %s is being deleted: %w", s.namespace, err)
	case noNamespace(err):
		return s.explain(err)
	case err != nil && !answered(err):
		return fmt.Errorf("ask whether namespace %s stays: %w", s.namespace, err)
	}
	return nil
}

// answered tells an answer about the request from none, or from one of a server that
// did not look at it.
func answered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code <= http.StatusInternalServerError && code != http.StatusTooManyRequests
}
