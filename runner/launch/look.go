package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/captf/captf-runner/runner/naming"
)

// Cluster returns the cluster that the newest of the object's retained Jobs names, and whether any of them does: that
// of an object outside any cluster is the empty one.
func (c Clients) Cluster(ctx context.Context, o naming.Object) (name string, named bool, err error) {
	runs, err := c.runs(ctx, o)
	if err != nil {
		return "", false, err
	}
	for _, r := range slices.Backward(runs) {
		if r.cluster != nil {
			return *r.cluster, true, nil
		}
	}
	return "", false, nil
}

// Look returns the object's retained Jobs, oldest first, for a person to see: those that are not booked with their
// pods, and each one that has finished with its outcome, recorded or not. Who may not read ConfigMaps is told that the
// result may be in one. It changes nothing.
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
			err := c.readConfigMap(ctx, r)
			if err != nil && !apierrors.IsForbidden(err) {
				return nil, fmt.Errorf("look at the jobs of %s: %w", o, err)
			}
			r.Outcome = new(Conclude(r.evidence))
			if err != nil {
				r.Outcome.Message = strings.TrimLeft(r.Outcome.Message+"; its result may be in a ConfigMap, which may not be read: "+err.Error(), "; ")
			}
		}
	}
	return runs, nil
}
