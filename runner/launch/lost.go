package launch

import (
	"context"
	"errors"
	"fmt"

	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
)

// lost tells a state that was lost from one that was never there or is destroyed, where no Job is left to tell: the
// newest copy decides. A destroy leaves one without resources, since its books copy the state before it is removed. The
// error has the reason state.Lost; nil is for a state that may begin anew.
func (p *pass) lost(ctx context.Context) (gone *state.Error, err error) {
	sets, err := p.backups().List(ctx, p.id)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	newest := sets[0]
	what := "which cannot be read"
	switch content, err := p.backups().Load(ctx, p.id, newest); {
	case err == nil && content.Encrypted:
		what = "which is encrypted"
	case err == nil && content.Summary.Resources == 0:
		return nil, nil
	case err == nil:
		what = fmt.Sprintf("which has resources (%d)", content.Summary.Resources)
	case !errors.Is(err, backup.ErrIncomplete) && !errors.As(err, new(state.Reason)):
		return nil, err
	}
	return &state.Error{Reason: state.Lost, Err: fmt.Errorf(
		"there is no state, but %s %s, %s: restore it, or remove the copies if nothing of it exists any more", newest.Origin, newest.Name, what)}, nil
}
