package plan

import (
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// What a plan does with one resource, as [Change.Action] says it.
const (
	Create  = "create"
	Update  = "update"
	Replace = "replace"
	Delete  = "delete"
	Forget  = "forget"
	Import  = "import" // and nothing else
	Move    = "move"   // and nothing else
	// ForgetCreate makes a new object and leaves the old one alone, in OpenTofu a replacement
	// under lifecycle { destroy = false }. It counts as one create and one forget.
	ForgetCreate = "forget-create"
)

// Summary counts what a plan does. Reads of data sources, no-ops and changes that the plan puts
// off to a later one do not count. An import or a move that also changes the object counts as
// both.
type Summary struct {
	Create, Update, Replace, Delete int
	OutputChanges                   int
	Import, Move, Forget            int

	// Resources has one entry for each object that is changed, sorted by address. An address
	// is there twice when one of its objects is left over from an unfinished replacement.
	Resources []Change
}

// Change is one changed object.
type Change struct {
	Address string
	Action  string // Create, Update, …
}

// Summarise counts what p does. A nil plan does nothing.
func Summarise(p *tfjson.Plan) Summary {
	var s Summary
	if p == nil {
		return s
	}
	for _, rc := range p.ResourceChanges {
		s.add(rc)
	}
	for _, c := range p.OutputChanges {
		if c != nil && !c.Actions.NoOp() {
			s.OutputChanges++
		}
	}
	s.sort()
	return s
}

// Drift is what p would create, update, replace and delete, for a plan that was made without
// refresh right after a refresh-only apply. Everything else that a runtime may report as a
// change is left out, so that the result is empty exactly when there is no drift: moves,
// imports, forgotten objects and outputs (spec/runner.md, "Steps").
func Drift(p *tfjson.Plan) Summary {
	s := Summarise(p)
	return Summary{
		Create: s.Create, Update: s.Update, Replace: s.Replace, Delete: s.Delete,
		Resources: slices.DeleteFunc(s.Resources, func(c Change) bool {
			return c.Action == Import || c.Action == Move || c.Action == Forget
		}),
	}
}

// Empty reports whether the plan changes nothing: no object, no output, no address.
func (s Summary) Empty() bool {
	return s.Create+s.Update+s.Replace+s.Delete+s.OutputChanges+s.Import+s.Move+s.Forget == 0
}

// Destructive reports whether the plan deletes or replaces an object: what --guard-deletes stops.
func (s Summary) Destructive() bool { return s.Delete+s.Replace > 0 }

func (s *Summary) add(rc *tfjson.ResourceChange) {
	if !changed(rc) {
		return
	}
	action := actionOf(rc)
	if action == "" {
		return
	}
	s.count(action)
	if imported(rc) && action != Import {
		s.Import++
	}
	if moved(rc) && action != Move {
		s.Move++
	}
	s.Resources = append(s.Resources, Change{Address: rc.Address, Action: action})
}

func (s *Summary) count(action string) {
	switch action {
	case Create:
		s.Create++
	case Update:
		s.Update++
	case Replace:
		s.Replace++
	case Delete:
		s.Delete++
	case Forget:
		s.Forget++
	case ForgetCreate:
		s.Create++
		s.Forget++
	case Import:
		s.Import++
	case Move:
		s.Move++
	}
}

// actionOf names what happens to the object, "" for nothing. It looks at which actions there
// are and not at their order or number, so that a combination which no runtime has today is
// still seen as a delete when it deletes.
func actionOf(rc *tfjson.ResourceChange) string {
	has := func(a tfjson.Action) bool { return slices.Contains(rc.Change.Actions, a) }
	switch {
	case has(tfjson.ActionDelete) && has(tfjson.ActionCreate):
		return Replace
	case has(tfjson.ActionDelete):
		return Delete
	case has(tfjson.ActionForget) && has(tfjson.ActionCreate):
		return ForgetCreate
	case has(tfjson.ActionForget):
		return Forget
	case has(tfjson.ActionCreate):
		return Create
	case has(tfjson.ActionUpdate):
		return Update
	case imported(rc):
		return Import
	case moved(rc):
		return Move
	}
	return ""
}

func (s *Summary) sort() {
	slices.SortFunc(s.Resources, func(a, b Change) int {
		if c := strings.Compare(a.Address, b.Address); c != 0 {
			return c
		}
		return strings.Compare(a.Action, b.Action)
	})
}
