package launch

import (
	"context"
	"fmt"

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
