package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
)

// copied looks at the backup or rescue set that is to be restored. An error is the API server's: one of the copy
// itself is in the view.
func (p *pass) copied(ctx context.Context) (CopyView, error) {
	want := p.desired.Restore
	sets, err := p.backups().List(ctx, p.id)
	if err != nil {
		return CopyView{}, err
	}
	i := slices.IndexFunc(sets, func(s backup.Set) bool { return s.Name == want.Set })
	if i < 0 {
		return CopyView{Reason: ReasonCopyNotFound, Err: fmt.Errorf(
			"there is no backup or rescue set %q of %s: captf state backups lists what there is", want.Set, p.id)}, nil
	}
	content, err := p.backups().Load(ctx, p.id, sets[i])
	switch {
	case errors.Is(err, backup.ErrIncomplete) || errors.As(err, new(state.Reason)):
		return CopyView{Reason: ReasonCopyUnusable, Err: err}, nil
	case err != nil:
		return CopyView{}, err
	}
	if err := sets[i].CheckLineage(p.seen.State.Summary, want.Lineage); err != nil {
		return CopyView{Reason: ReasonCopyLineage, Err: err}, nil
	}
	return CopyView{Chunks: sets[i].Secrets(), Resources: content.Summary.Resources}, nil
}
