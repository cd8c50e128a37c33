package torture

import (
	"slices"
	"strings"
)

// task is what the run that is struck has to do. A state with resources is there before it, except at init.
type task string

const (
	creates  task = "create"  // apply makes two more resources
	replaces task = "replace" // apply changes one resource in place, and replaces another one
	destroys task = "destroy" // all of three resources
)

var tasks = []task{creates, replaces, destroys}

// object is what is really there. A resource that is replaced is another object than before.
type object struct{ name, address string }

var (
	first       = object{"first", "probe_file.first"}
	second      = object{"second", "probe_file.second"}
	third       = object{"third", "probe_file.third"}
	replacement = object{"third-b", "probe_file.third"}

	objects = []object{first, second, third, replacement}
)

func (k task) op() string {
	if k == destroys {
		return "destroy"
	}
	return "apply"
}

// goal is what is there when the task is done.
func (k task) goal() []object {
	switch k {
	case destroys:
		return nil
	case replaces:
		return []object{first, second, replacement}
	}
	return []object{first, second, third}
}

// gate is where the provider stops for a moment, empty when that is elsewhere.
func (k task) gate(m moment) string {
	return gates[k][m]
}

var gates = map[task]map[moment]string{
	creates:  {atPlan: "plan-second", beforeChange: "read-first", duringChange: "after-create-second", afterChange: "before-create-third"},
	replaces: {atPlan: "plan-second", beforeChange: "read-first", duringChange: "after-create-third-b", afterChange: "before-create-third-b"},
	destroys: {beforeChange: "read-first", duringChange: "after-delete-second", afterChange: "before-delete-second"},
}

// moments are those that the task makes a difference to. A provider of the tests cannot be held while it plans to
// delete.
func (k task) moments() []moment {
	switch k {
	case replaces:
		return []moment{atPlan, beforeChange, duringChange, afterChange, atStateWrite, atUnlock, atResult}
	case destroys:
		return []moment{beforeChange, duringChange, afterChange, atStateWrite, atUnlock, atResult}
	}
	return moments
}

// faults are those that the task makes a difference to: the ones after which something may be lost.
func (k task) faults() []fault {
	if k == creates {
		return faults
	}
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return slices.Contains([]string{interruptGroup, stopServer, serverErrors, hangServer, fullDisk}, f.name)
	})
}

// prepare makes the state that the task begins with, if any, and then declares what it has to bring about. Each of its
// resources takes this argument, too.
func (tr *trial) prepare(empty bool, argument string) {
	with := func(root string) string { return strings.ReplaceAll(root, "\n}", argument+"\n}") }
	if tr.task != creates {
		tr.grow(with(twoMore))
	}
	if !empty {
		tr.succeedIn("apply", "seed")
	}
	switch tr.task {
	case creates:
		tr.grow(with(twoMore))
	case replaces:
		tr.grow(with(twoOther))
	}
}

// reached tells whether exactly the task's goal is in a state.
func (k task) reached(d document) bool {
	goal := k.goal()
	for _, o := range objects {
		want := 0
		if slices.Contains(goal, o) {
			want = 1
		}
		if d.has(o) != want {
			return false
		}
	}
	return true
}
