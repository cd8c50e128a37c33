package launch

import (
	"context"
	"fmt"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// Look returns the object's retained Jobs, oldest first, for a person to see: those that are not booked with their
// pods, and each one that has finished with its outcome, recorded or not. It changes nothing.
func (c Clients) Look(ctx context.Context, o naming.Object) ([]Run, error) {
	runs, err := c.runs(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.addPods(ctx, o, runs); err != nil {
		return nil, fmt.Errorf("look at the jobs of %s: %w", o, err)
	}
	for i := range runs {
		if r := &runs[i]; r.Finished && r.Outcome == nil {
			r.Outcome = new(Conclude(r.evidence))
		}
	}
	return runs, nil
}

// Phase reads a pod. It is a lock.Pods.
func (c Clients) Phase(ctx context.Context, pod string) (lock.PodPhase, error) {
	return c.phase(ctx, pod)
}

// Holder reads the Job that a lease names. It is a lease.Jobs.
func (c Clients) Holder(ctx context.Context, job string) (lease.Job, error) { return c.job(ctx, job) }
