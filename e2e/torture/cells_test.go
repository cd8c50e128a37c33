package torture

import "slices"

// moment is where in a run the fault strikes.
type moment string

const (
	atInit        moment = "init"            // the first state is about to be made, or looked for
	atForceUnlock moment = "force-unlock"    // the lock that was handed down is about to be released
	atPlan        moment = "plan"            // a provider is planning, the plan's lock is held
	beforeChange  moment = "before-resource" // apply has the lock and refreshes, nothing was changed
	duringChange  moment = "during-resource" // the resource is really there, and the runtime was not told yet
	afterChange   moment = "after-resource"  // one resource is done, the next in flight, neither is in a saved state
	atStateWrite  moment = "state-write"     // the new state is on its way
	atUnlock      moment = "unlock"          // the new state is saved, the lock is about to be released
	atResult      moment = "result-write"    // no child runs, the result is being written for the last time
)

var moments = []moment{atInit, atForceUnlock, atPlan, beforeChange, duringChange, afterChange, atStateWrite, atUnlock, atResult}

// The backends.
const (
	onHTTP       = "http"
	onKubernetes = "kubernetes"
)

// cell is one combination of the matrix.
type cell struct {
	fault   string
	moment  moment
	task    task
	runtime string
	backend string
}

func (c cell) String() string {
	return c.backend + "/" + c.runtime + "/" + string(c.task) + "/" + c.moment.String() + "/" + c.fault
}

func (m moment) String() string { return string(m) }

// combinations are all cells, those that cannot exist too.
func combinations() (all []cell) {
	for _, backend := range []string{onHTTP, onKubernetes} {
		for _, runtime := range []string{"tofu", "terraform"} {
			for _, k := range tasks {
				all = append(all, k.cells(backend, runtime)...)
			}
		}
	}
	return all
}

func (k task) cells(backend, runtime string) (all []cell) {
	for _, m := range k.moments() {
		for _, f := range k.faults() {
			all = append(all, cell{fault: f.name, moment: m, task: k, runtime: runtime, backend: backend})
		}
	}
	return all
}

// impossible is why a combination cannot exist; empty when it can. Each run of a cell proves what is said here
// about the processes that are there at its moment.
func impossible(c cell) string {
	switch {
	case c.fault == killProvider && !hasProvider(c.moment):
		return "no provider runs at this moment"
	case (c.fault == killChild || c.fault == crashChild) && !hasChild(c):
		return "no child runs at this moment"
	case c.fault == stopServer && c.backend == onHTTP:
		return "of the API server only: a state server that answers 500 is the like of it"
	case c.fault == serverErrors && c.backend == onKubernetes:
		return "of the state server only: an API server that is stopped is the like of it"
	case c.fault == killLate && !sendsRequest(c.moment):
		return "no request is on its way at this moment"
	case (c.fault == killRescue || c.fault == killContainerRescue) && !slices.Contains([]moment{beforeChange, duringChange, afterChange, atStateWrite}, c.moment):
		return "a server that is gone from this moment on leaves no state to be rescued"
	case c.fault == killLate && c.task == destroys && c.moment == atUnlock:
		return "the next run finds nothing to do: it has no write that the late request could come before"
	case c.task == begins && c.moment == atStateWrite && c.backend == onKubernetes:
		return "an init has written the first state"
	}
	return ""
}

func sendsRequest(m moment) bool {
	return slices.Contains([]moment{atInit, atForceUnlock, atStateWrite, atUnlock}, m)
}

// hasProvider: init and force-unlock need none, and a runtime ends them before it saves the state.
func hasProvider(m moment) bool {
	return slices.Contains([]moment{atPlan, beforeChange, duringChange, afterChange}, m)
}

// hasChild: what a state server has locked, the runner has it release itself.
func hasChild(c cell) bool {
	return c.moment != atResult && !(c.moment == atForceUnlock && c.backend == onHTTP)
}

// possible are the cells of the whole matrix.
func possible() []cell {
	return slices.DeleteFunc(combinations(), func(c cell) bool { return impossible(c) != "" })
}

// chosen is the reduced form: every fault and every moment on each backend and with each runtime, and every task at
// its moments, in as few cells as a greedy choice needs.
func chosen(cells []cell) (few []cell) {
	seen := map[string]bool{}
	for {
		best, most := cell{}, 0
		for _, c := range cells {
			if n := unseen(c, seen); n > most {
				best, most = c, n
			}
		}
		if most == 0 {
			return few
		}
		few = append(few, best)
		for _, pair := range pairs(best) {
			seen[pair] = true
		}
	}
}

func pairs(c cell) []string {
	return []string{
		c.fault + " " + c.backend, c.moment.String() + " " + c.backend, c.fault + " " + c.runtime,
		c.moment.String() + " " + c.runtime, c.runtime + " " + c.backend, c.moment.String() + " " + string(c.task),
		string(c.task) + " " + c.runtime, string(c.task) + " " + c.backend,
	}
}

func unseen(c cell, seen map[string]bool) (n int) {
	for _, pair := range pairs(c) {
		if !seen[pair] {
			n++
		}
	}
	return n
}
