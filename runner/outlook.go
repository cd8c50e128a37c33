package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// outlook is what a run asks where its state is kept before the first step. The answers come while the run
// prepares, which costs no time then.
type outlook struct {
	cancel   context.CancelFunc
	selected chan error     // one answer: that of checkSelector
	free     chan time.Time // one answer: when the lock was free, or never
	freeAt   time.Time      // the answer, once init has ended
}

// lookOut asks. Nobody need wait for the answers: cancel ends it.
func (r *run) lookOut(ctx context.Context) *outlook {
	ctx, cancel := r.lookAhead(ctx)
	o := &outlook{cancel: cancel, selected: make(chan error, 1), free: make(chan time.Time, 1)}
	keeper, c := r.keeper, r.cluster // that of a local run is another one soon
	wanted := keeper != nil && r.budget.left() > 0 && r.stale.id == ""
	go func() {
		o.selected <- checkSelector(ctx, c)
		var free time.Time
		if wanted {
			free = glance(ctx, keeper)
		}
		o.free <- free
	}()
	return o
}

// checkSelector refuses a state whose Secret is there by its name, but not by the labels that go to the
// backend: a runtime that looks for the state by its labels finds none, and starts with an empty one. A Secret
// that is not there, or cannot be read, is left to init.
func checkSelector(ctx context.Context, c *cluster) error {
	if c == nil {
		return nil
	}
	secret, err := c.stateSecret(ctx)
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

// stateSecret reads the labels of the state's first Secret. An answer that may pass is not the last word: too much hangs
// on it.
func (c *cluster) stateSecret(ctx context.Context) (secret *kube.Metadata, err error) {
	read := func() error {
		// A state can have a megabyte: it is not sent for this.
		secret, err = c.client.Secrets(c.client.Namespace()).GetMetadata(ctx, naming.StateSecret(c.suffix, 0), metav1.GetOptions{})
		if absent.Is(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	err = backoff.Retry(read, backoff.WithContext(backoff.WithMaxRetries(pausesFrom(50*time.Millisecond, time.Second), 4), ctx))
	return secret, err
}

// glanceAge is how long a lock that was seen free need not be looked at again.
const glanceAge = time.Second

// justFree tells whether the lock was seen free a moment ago.
func (o *outlook) justFree() bool { return o != nil && time.Since(o.freeAt) < glanceAge }

// glance returns when the lock was free, or never.
func glance(ctx context.Context, keeper lockKeeper) (free time.Time) {
	if holder, err := keeper.Holder(ctx); err == nil && holder == nil {
		free = time.Now()
	}
	return free
}
