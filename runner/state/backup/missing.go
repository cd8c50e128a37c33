package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// CheckMissing tells what it means that there is no state, where no Job is left to tell: the newest copy decides. A
// destroy leaves one without resources, since its books copy the state before it is removed. So a newest copy with
// resources, and one that cannot be read or is encrypted and not marked as empty, says that the state is lost: the
// error has the reason [state.Lost]. It is nil for an object that may begin anew. Any other error is the API
// server's.
func (s Store) CheckMissing(ctx context.Context, object naming.Object) error {
	sets, err := s.List(ctx, object)
	if err != nil || len(sets) == 0 {
		return err
	}
	newest := sets[0]
	content, err := s.Load(ctx, object, newest)
	var what string
	switch {
	case errors.Is(err, ErrIncomplete) || errors.As(err, new(state.Reason)):
		what = "which cannot be read"
	case err != nil:
		return err
	case newest.Empty:
		return nil
	case content.Encrypted:
		what = "which is encrypted"
	case content.Summary.Resources == 0:
		return nil
	default:
		what = fmt.Sprintf("which has resources (%d)", content.Summary.Resources)
	}
	return &state.Error{Reason: state.Lost, Err: fmt.Errorf(
		"there is no state, but %s %s, %s: restore it, or remove the copies if nothing of it exists any more", newest.Origin, newest.Name, what)}
}
