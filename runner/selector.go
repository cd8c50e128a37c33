package runner

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// checkSelector refuses a state whose Secret is there by its name, but not by the labels that go to the
// backend: a runtime that looks for the state by its labels finds none, and starts with an empty one. A Secret
// that is not there, or cannot be read, is left to init.
func (r *run) checkSelector(ctx context.Context) error {
	c, ok := r.keeper.(*cluster)
	if !ok {
		return nil
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	// A state can have a megabyte: it is not sent for this.
	secret, err := c.client.Secrets(c.client.Namespace()).GetMetadata(ctx, naming.StateSecret(c.suffix, 0), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	selector := naming.BackendSelector(c.suffix, c.labels)
	if key, ok := naming.Unselected(selector, secret.Labels); ok {
		return &failure{kind: result.KindStep, reason: result.ReasonConfig, step: stepInit,
			err: fmt.Errorf("state Secret %s/%s has label %s=%q, but --backend-config selects it by %q: "+
				"the runtime could miss the state and start with an empty one; use the labels that the state was made with",
				c.client.Namespace(), secret.Name, key, secret.Labels[key], selector[key])}
	}
	return nil
}
