package chunks

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/internal/page"
)

// Gather reads the Secrets of the object's state. None is no error. An error is the API server's, and names the
// request; or that of [naming.Object.Validate].
func (a API) Gather(ctx context.Context, object naming.Object) (*Set, error) {
	if err := object.Validate(); err != nil {
		return nil, fmt.Errorf("gather the state: %w", err)
	}
	// More than a state may have are not all read.
	selector := labels.SelectorFromSet(naming.StateSelector(naming.Suffix(object))).String()
	found, err := page.Secrets(ctx, a.Secrets, selector, state.MaxChunks)
	if err != nil {
		return nil, fmt.Errorf("gather the state of %s: list secrets: %w", object, err)
	}
	set := &Set{Object: object, Found: found}
	if err := a.findHidden(ctx, set); err != nil {
		return nil, fmt.Errorf("gather the state of %s: %w", object, err)
	}
	return set, nil
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
