package chunks

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

const (
	pageSize = 8 // Secrets, of up to 1 MiB each
	// listTries bounds how often a list starts over whose pages the server no longer has.
	listTries = 4
)

// Gather reads the Secrets of the object's state. None is no error. An error is the API server's, and names the
// request; or that of [naming.Object.Validate].
func (a API) Gather(ctx context.Context, object naming.Object) (*Set, error) {
	if err := object.Validate(); err != nil {
		return nil, fmt.Errorf("gather the state: %w", err)
	}
	set := &Set{Object: object}
	var err error
	if set.Found, err = a.list(ctx, naming.Suffix(object)); err != nil {
		return nil, fmt.Errorf("gather the state of %s: list secrets: %w", object, err)
	}
	if err := a.findHidden(ctx, set); err != nil {
		return nil, fmt.Errorf("gather the state of %s: %w", object, err)
	}
	return set, nil
}

// list reads the Secrets that carry the suffix, page by page. More than a state may have are not all read.
func (a API) list(ctx context.Context, suffix string) (found []corev1.Secret, err error) {
	// No resourceVersion: the server asks etcd, and not its cache of what it knew.
	selector := labels.SelectorFromSet(naming.StateSelector(suffix)).String()
	try := func() error {
		found = nil
		opts := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
		for {
			page, err := a.Secrets.List(ctx, opts)
			switch {
			case apierrors.IsResourceExpired(err):
				return err
			case err != nil:
				return backoff.Permanent(err)
			}
			found = append(found, page.Items...)
			if opts.Continue = page.Continue; opts.Continue == "" || len(found) > state.MaxChunks {
				return nil
			}
		}
	}
	// At once: the pages of a new list are kept for minutes.
	err = backoff.Retry(try, backoff.WithContext(backoff.WithMaxRetries(&backoff.ZeroBackOff{}, listTries-1), ctx))
	return found, err
}

// findHidden reads by its name what should be there and was not found: every chunk that is missing, and the one
// behind the last.
func (a API) findHidden(ctx context.Context, set *Set) error {
	if len(set.Found) > state.MaxChunks {
		return nil
	}
	suffix := naming.Suffix(set.Object)
	there, last := map[int]bool{}, -1
	for _, secret := range set.Found {
		if part, ok := naming.StatePart(suffix, secret.Name); ok {
			there[part] = true
			last = max(last, min(part, state.MaxChunks))
		}
	}
	for part := 0; part <= last+1; part++ {
		if there[part] {
			continue
		}
		name := naming.StateSecret(suffix, part)
		secret, err := a.Secrets.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("get secret %s: %w", name, err)
		default:
			set.Hidden = append(set.Hidden, *secret)
			last = max(last, min(part, state.MaxChunks))
		}
	}
	return nil
}
