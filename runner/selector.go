package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	ctx, cancel := r.look(ctx)
	defer cancel()
	secret, err := c.stateSecret(ctx)
	if err != nil || secret == nil {
		return nil
	}
	selector := c.selector()
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if got, ok := secret.Labels[key]; !ok || got != selector[key] {
			return &failure{kind: result.KindStep, reason: result.ReasonConfig, step: stepInit,
				err: fmt.Errorf("state Secret %s/%s has label %s=%q, but --backend-config selects it by %q: "+
					"the runtime could miss the state and start with an empty one; use the labels that the state was made with",
					c.client.Namespace(), secret.Name, key, got, selector[key])}
		}
	}
	return nil
}

// selector is what the backend selects the Secrets of a state by.
func (c *cluster) selector() map[string]string {
	selector := map[string]string{
		"tfstate":                      "true",
		"tfstateSecretSuffix":          c.suffix,
		"tfstateWorkspace":             "default",
		"app.kubernetes.io/managed-by": "terraform",
	}
	maps.Copy(selector, c.labels)
	return selector
}
