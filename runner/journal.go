package runner

import (
	"slices"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// maxJournal bounds how many resources the result names; it counts all of them.
const maxJournal = 64

// journal keeps the result's list of resources that no saved state may know, before the run can be
// killed: what a partial result says is then the only trace of them.
func (r *run) journal(changes []runtime.Started) {
	list := listUnsaved(changes)
	r.update(func(res *result.Result) { res.Unsaved = list })
	r.saver.soon(r.save)
}

// unsaved is what a step that has ended may have changed without a saved state that says so. A runtime
// that ended by itself has saved its state, or left it to be rescued, with all that providers told it. One that was
// killed, or pressed to end, saved nothing that it had not saved before.
func unsaved(exit runtime.Exit, output *runtime.Output) *result.Unsaved {
	if exit.Signal != 0 || exit.Pressed || exit.Killed {
		return listUnsaved(output.Changes)
	}
	return listUnsaved(output.Unanswered())
}

// listUnsaved lists the changes that are in flight, then those that ended; of each the newest first.
func listUnsaved(changes []runtime.Started) *result.Unsaved {
	var list result.Unsaved
	for _, ended := range []bool{false, true} {
		for _, c := range slices.Backward(changes) {
			if c.Ended != ended {
				continue
			}
			list.Count++
			if len(list.Resources) < maxJournal {
				list.Resources = append(list.Resources, result.UnsavedResource{Address: c.Address, Action: c.Action, ID: c.ID})
			}
		}
	}
	if list.Count == 0 {
		return nil
	}
	return &list
}
