package launch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// maxDestroys is how many destroys are to show that an encrypted state is empty: the second one does, unless somebody
// writes in between.
const maxDestroys = 3

// cleaning follows a destroy that succeeded, or replaces one that has nothing to do.
func cleaning(o Observed) *Decision {
	if o.Desired.Op != naming.Destroy {
		return nil
	}
	never := errors.Is(o.State.Err, state.NotFound) && !o.Desired.Applied && o.lastWriter() == nil
	n := o.destroys()
	switch {
	case o.destroyed() || never:
		if wait := held(o); wait != nil {
			return wait // what holds it may be about to write a state
		}
		return &Decision{Action: Cleanup, Reason: ReasonDestroyed, Message: "nothing is left to destroy"}
	case o.unproven() && n < maxDestroys:
		return nil // another destroy
	case o.unproven():
		return &Decision{Action: Refuse, Reason: string(state.Encrypted), Message: fmt.Sprintf(
			"%d destroys succeeded, and each changed the state, which is encrypted: look whether it is empty, and delete its Secrets", n)}
	case o.Desired.Once && o.done() && (n == 0 || o.State.Err == nil): // it failed, or something came back
		return &Decision{Action: Idle, Reason: ReasonDone, Message: "destroy has run"}
	}
	return nil
}

// destroyed reports whether a destroy succeeded, nothing came after it, and nothing is left in the state. An encrypted
// state does not tell: it is empty when the destroy left it as it was, because it found nothing to destroy. Whoever else
// writes it encrypts it anew, and so changes it.
func (o Observed) destroyed() bool {
	last := o.lastWriter()
	if last == nil || last.Op != naming.Destroy || last.verdict() != Succeeded {
		return false
	}
	switch {
	case o.State.Version == "" && (errors.Is(o.State.Err, state.NotFound) || errors.Is(o.State.Err, state.Lost)):
		return true
	case errors.Is(o.State.Err, state.Encrypted):
		return last.StateVersion == o.State.Version
	}
	return o.State.Err == nil && o.State.resources() == 0
}

// unproven reports whether a destroy succeeded and left an encrypted state, which may be empty.
func (o Observed) unproven() bool {
	return errors.Is(o.State.Err, state.Encrypted) && o.destroys() > 0 && !o.destroyed()
}

// destroys counts the newest runs of what is desired that are destroys which succeeded.
func (o Observed) destroys() (n int) {
	for _, r := range slices.Backward(o.ofDesired()) {
		if r.Op != naming.Destroy || r.verdict() != Succeeded {
			break
		}
		n++
	}
	return n
}
