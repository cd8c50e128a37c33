package torture

import (
	"slices"
	"strings"
)

// task is what the run that is struck has to do. A state with resources is there before it, except at init and when it
// begins.
type task string

const (
	creates  task = "create"  // apply makes two more resources
	replaces task = "replace" // apply changes one resource in place, and replaces another one
	destroys task = "destroy" // all of three resources
	begins   task = "begin"   // apply makes three resources, and the first state that there ever is
)

var tasks = []task{creates, replaces, destroys, begins}

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
	begins:   {duringChange: "after-create-second", afterChange: "before-create-third"},
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
	case begins:
		return []moment{duringChange, afterChange, atStateWrite}
	}
	return moments
}

// faults are those that the task makes a difference to: the ones after which something may be lost.
func (k task) faults() []fault {
	switch k {
	case creates:
		return faults
	case begins:
		return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !slices.Contains(atFirst, f.name) })
	}
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return slices.Contains([]string{interruptGroup, stopServer, serverErrors, hangServer, fullDisk}, f.name)
	})
}

// atFirst are the faults of which a first run may have to save a state that has never been anywhere.
var atFirst = []string{crashChild, killPod, serverGone, fullDisk, gonePlus, killRescue, killContainerRescue}

// prepare makes the state that the task begins with, if any, and then declares what it has to bring about. Each of its
// resources takes this argument, too.
func (tr *trial) prepare(empty bool, argument string) {
	with := func(root string) string { return strings.ReplaceAll(root, "\n}", argument+"\n}") }
	if tr.task == replaces || tr.task == destroys {
		tr.grow(with(twoMore))
	}
	if !empty {
		tr.succeedIn("apply", "seed")
	}
	switch tr.task {
	case creates, begins:
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
