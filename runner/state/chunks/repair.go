package chunks

import (
	"context"
	"strings"

	"github.com/captf/captf-runner/runner/event"
)

// Pass is what a controller's pass knows of the object when it looks for something to repair.
type Pass struct {
	// Paused says that the object is paused.
	Paused bool
	// JobRuns says that a Job of the object runs, or that one holds the run lease.
	JobRuns bool
}

// Repair adopts the chunks that have no owner reference or an old one: a part that a refresh created, a state that was
// restored. While the object is paused or a Job runs it does nothing. The event is nil if there was nothing to do. The
// inputs hash is left alone, whatever want says. An error is that of [API.Adopt].
func (a API) Repair(ctx context.Context, set *Set, want Adoption, pass Pass) (*event.Event, error) {
	if pass.Paused || pass.JobRuns {
		return nil, nil
	}
	want.InputsHash = ""
	done, err := a.Adopt(ctx, set, want)
	if len(done.Changed) == 0 {
		return nil, err
	}
	e := event.New(event.OwnerReferencesRepaired, "owned again: %s", strings.Join(done.Changed, ", "))
	return &e, err
}
