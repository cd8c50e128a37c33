package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// The time that reading the state back may take: once a stop is requested a share of what is left of its budget.
const (
	pullTime  = 15 * time.Second
	pullShare = 0.4
)

// findSaved is for a step that did not come to its own end: it looks which of the changes that were done a saved state
// has nevertheless. That is the one which was rescued, or else the one that the backend has now. When a resource that
// was made is in neither, the state of this run is lost: the next run would make it again.
func (r *run) findSaved(ctx context.Context, s step, output *runtime.Output, safe []byte) {
	if !slices.ContainsFunc(output.Changes, completed) || safe == nil && r.report.State != nil {
		return
	}
	r.report.save() // what is not known to be saved is named before this takes time
	if safe == nil {
		safe = r.pullState(ctx)
	}
	left := unproven(output.Changes, plannedActions(s, output), safe)
	r.report.setUnsaved(listUnsaved(left, len(left)))
	if r.report.State == nil && slices.ContainsFunc(left, made) {
		r.report.update(func(res *result.Result) { res.State = &result.State{Saved: result.SavedLost} })
	}
}

// completed tells of a change that was done.
func completed(c runtime.Started) bool { return c.Ended && !c.Failed }

// made tells of one that made something.
func made(c runtime.Started) bool { return completed(c) && c.Action == plan.Create }

// pullState reads the state that the backend has; nil when it does not tell.
func (r *run) pullState(ctx context.Context) []byte {
	ctx, cancel := r.within(ctx, pullTime, pullShare)
	defer cancel()
	state, exit, err := r.rt.PullState(ctx)
	r.report.record("state-pull", exit, 1)
	if err != nil {
		r.log.Warn("the state could not be read back", "error", err)
	}
	return state
}

// plannedActions are what the step, or the plan that it applied, was going to do at each address. It may do several
// things at one: then that is none of them.
func plannedActions(s step, output *runtime.Output) map[string]string {
	actions := map[string]string{}
	add := func(address, action string) {
		if before, ok := actions[address]; ok && before != action {
			action = ""
		}
		actions[address] = action
	}
	for _, c := range s.planned {
		add(c.Address, c.Action)
	}
	for _, c := range output.Planned {
		add(c.Resource.Addr, c.Action)
	}
	return actions
}

// unproven are the changes that this state does not prove to be in it. It proves that a new resource is when it has
// it by its ID, and that a deletion is when it has that ID no more; of an update it proves nothing. Without a state,
// nothing is proven.
func unproven(changes []runtime.Started, planned map[string]string, state []byte) []runtime.Started {
	stored, ok := readInstances(state)
	if !ok {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c runtime.Started) bool {
		switch {
		case !completed(c):
			return false
		case c.Action == plan.Delete:
			return !slices.ContainsFunc(stored[c.Address], func(i instance) bool { return c.ID == "" || i.is(c.ID) })
		case c.Action == plan.Create && isNew(c, changes, planned[c.Address]):
			return slices.ContainsFunc(stored[c.Address], func(i instance) bool { return !i.deposed && i.is(c.ID) })
		}
		return false
	})
}

// isNew tells whether no state can have had the ID of what was made at its address before: that of an object which is
// replaced may be the same.
func isNew(made runtime.Started, changes []runtime.Started, planned string) bool {
	if planned == plan.Create {
		return true
	}
	old := slices.IndexFunc(changes, func(c runtime.Started) bool { return c.Address == made.Address && c.Action == plan.Delete })
	return old >= 0 && changes[old].ID != "" && changes[old].ID != made.ID
}

// instance is what a state has at an address.
type instance struct {
	deposed  bool
	id, name string
}

// is tells whether a runtime would tell of it by this ID.
func (i instance) is(id string) bool { return id != "" && cmp.Or(i.id, i.name) == id }

// readInstances reads the managed resources of a state; not ok when it is none.
func readInstances(state []byte) (found map[string][]instance, ok bool) {
	var doc struct {
		Version   int
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				IndexKey   json.RawMessage `json:"index_key"`
				Deposed    string
				Attributes struct{ ID, Name any }
			}
		}
	}
	if json.Unmarshal(state, &doc) != nil || doc.Version != 4 {
		return nil, false
	}
	found = map[string][]instance{}
	for _, r := range doc.Resources {
		if r.Mode != "managed" {
			continue
		}
		address := strings.TrimPrefix(r.Module+"."+r.Type+"."+r.Name, ".")
		for _, i := range r.Instances {
			id, _ := i.Attributes.ID.(string)
			name, _ := i.Attributes.Name.(string)
			key := address + indexKey(i.IndexKey)
			found[key] = append(found[key], instance{deposed: i.Deposed != "", id: id, name: name})
		}
	}
	return found, true
}

// indexKey is the key of an instance as addresses have it.
func indexKey(key json.RawMessage) string {
	if len(key) == 0 || string(key) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(key, &text) == nil {
		return "[" + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(text)) + "]"
	}
	return "[" + string(key) + "]"
}
