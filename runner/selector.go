package runner

import (
	"context"
	"fmt"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// checkSelector refuses a state whose Secret is there by its name, but not by the labels that go to the
// backend: a runtime that looks for the state by its labels finds none, and starts with an empty one. A Secret
// that cannot be read is left to init.
func (r *run) checkSelector(ctx context.Context) error {
	c, ok := r.keeper.(*cluster)
	if !ok {
		return nil
	}
	ctx, cancel := r.lookAhead(ctx)
	defer cancel()
	secret, err := c.stateSecret(ctx)
	if err != nil || secret == nil {
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
