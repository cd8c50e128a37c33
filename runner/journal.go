package runner

import (
	"slices"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// maxJournal bounds how many resources the result names while a step changes them; it counts all of them. More would
// not fit into a termination message, and what is not named is in the list of the step's changes.
const maxJournal = 64

// journal keeps the result's list of resources that no saved state may know, before the run can be
// killed: what a partial result says is then the only trace of them.
func (rp *report) journal(changes []runtime.Started) {
	rp.setUnsaved(listUnsaved(changes, maxJournal))
	rp.saveSoon()
}

// setUnsaved notes what no saved state may know, and where the list is that has the rest of it.
func (rp *report) setUnsaved(list *result.Unsaved) {
	rp.update(func(res *result.Result) {
		if res.Unsaved = list; list != nil {
			list.Planned = rp.listed
		}
	})
}

// unsaved is what a step that has ended may have changed without a saved state that says so. A runtime
// that came to its own end has saved its state, or left it to be rescued, with all that providers told it. Any other
// saved nothing for sure that it had not saved before, see [run.findSaved].
func unsaved(exit runtime.Exit, output *runtime.Output) *result.Unsaved {
	if cameToEnd(exit, output) {
		unanswered := output.Unanswered()
		return listUnsaved(unanswered, len(unanswered))
	}
	return listUnsaved(output.Changes, len(output.Changes))
}

// cameToEnd tells of a step that nobody killed or pressed to end, and that said how it ended: its exit code is no proof
// of either, since a wrapper may have made it.
func cameToEnd(exit runtime.Exit, output *runtime.Output) bool {
	return exit.Signal == 0 && !exit.Pressed && !exit.Killed && !output.Broke()
}

// listUnsaved lists the changes that are in flight, then those that ended; of each the newest first. It
// counts all of them, and names as many as limit says.
func listUnsaved(changes []runtime.Started, limit int) *result.Unsaved {
	var list result.Unsaved
	for _, ended := range []bool{false, true} {
		for _, c := range slices.Backward(changes) {
			if c.Ended != ended {
				continue
			}
			list.Count++
			if len(list.Resources) < limit {
				list.Resources = append(list.Resources, result.UnsavedResource{Address: c.Address, Action: c.Action, ID: c.ID})
			}
		}
	}
	if list.Count == 0 {
		return nil
	}
	return &list
}
