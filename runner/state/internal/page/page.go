// Package page lists Secrets page by page.
package page

import (
	"context"

	"github.com/cenkalti/backoff/v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	size = 8 // Secrets, of up to 1 MiB each
	// tries bounds how often a list starts over whose pages the server no longer has.
	tries = 4
)

// Lister lists Secrets of one namespace.
type Lister interface {
	List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error)
}

// Secrets returns the Secrets that have the labels, read live. It ends after the page that brings their number over
// limit. An error is the API server's.
func Secrets(ctx context.Context, from Lister, selector string, limit int) (found []corev1.Secret, err error) {
	try := func() error {
		found = nil
		// No resourceVersion: the server asks etcd, and not its cache of what it knew.
		opts := metav1.ListOptions{LabelSelector: selector, Limit: size}
		for {
			page, err := from.List(ctx, opts)
			switch {
			case apierrors.IsResourceExpired(err):
				return err
			case err != nil:
				return backoff.Permanent(err)
			}
			found = append(found, page.Items...)
			if opts.Continue = page.Continue; opts.Continue == "" || len(found) > limit {
				return nil
			}
		}
	}
	// At once: the pages of a new list are kept for minutes.
	err = backoff.Retry(try, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, tries-1), ctx))
	return found, err
}
