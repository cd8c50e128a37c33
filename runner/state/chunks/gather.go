package chunks

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/internal/page"
)

// gatherTries bounds how often a state is read again of which a chunk was made while it was read.
const gatherTries = 4

// errAppeared says that a chunk was made after the others were listed.
var errAppeared = errors.New("it is being written: try in the next pass")

// Gather reads the Secrets of the object's state. None is no error. An error is the API server's, and names the
// request; or that of [naming.Object.Validate]; or says that the state was being written again and again.
func (a API) Gather(ctx context.Context, object naming.Object) (*Set, error) {
	if err := object.Validate(); err != nil {
		return nil, fmt.Errorf("gather the state: %w", err)
	}
	var set *Set
	var err error
	for range gatherTries {
		if set, err = a.gather(ctx, object); !errors.Is(err, errAppeared) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("gather the state of %s: %w", object, err)
	}
	return set, nil
}

func (a API) gather(ctx context.Context, object naming.Object) (*Set, error) {
	// More than a state may have are not all read.
	selector := labels.SelectorFromSet(naming.StateSelector(naming.Suffix(object))).String()
	found, err := page.Secrets(ctx, a.Secrets, selector, state.MaxChunks)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	set := &Set{Object: object, Found: found}
	return set, a.findHidden(ctx, set)
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
		secret, err := a.hidden(ctx, suffix, part)
		if err != nil {
			return err
		}
		if secret != nil {
			set.Hidden = append(set.Hidden, *secret)
			last = max(last, min(part, state.MaxChunks))
		}
	}
	return nil
}

// hidden reads a chunk that a list did not have; nil if it does not exist. One that a list would have now was made in
// between, and the list is no longer true.
func (a API) hidden(ctx context.Context, suffix string, part int) (*corev1.Secret, error) {
	name := naming.StateSecret(suffix, part)
	secret, err := a.Secrets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case absent.Is(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get secret %s: %w", name, err)
	}
	if _, isHidden := naming.Unselected(naming.StateSelector(suffix), secret.Labels); !isHidden {
		return nil, fmt.Errorf("secret %s: %w", name, errAppeared)
	}
	return secret, nil
}
