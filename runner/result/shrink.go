package result

import "slices"

// tailBite is how much of a tail one bite takes, in bytes.
const tailBite = 64

// bites returns what is taken from a result that does not fit, in the order of
// spec/runner.md. Each takes one bite from a copy made by normal, never writes
// to a list that the original shares, and reports whether there was anything
// left to take. The last two are ours: the names of dropped variables, and at the
// very end resources that no state knows, are all that remains to drop before the
// minimal document.
func bites() []func(*Result) bool {
	return []func(*Result) bool{
		dropChanges, halveErrorResources, cutTail, halvePlanResources, halveDriftResources, dropMiddleSteps, halveEnv, halveUnsaved,
	}
}

func dropChanges(r *Result) bool {
	had := r.Changes != nil
	r.Changes = nil
	return had
}

func halveErrorResources(r *Result) bool { return r.Error != nil && halve(&r.Error.Resources) }

func cutTail(r *Result) bool {
	if r.Error == nil || r.Error.Tail == "" {
		return false
	}
	limit := len(r.Error.Tail) - tailBite
	if limit <= len(cutMark) {
		limit = 0 // a mark alone tells nobody anything
	}
	r.Error.Tail = Cut(r.Error.Tail, limit)
	return true
}

func halvePlanResources(r *Result) bool {
	if r.Plan == nil || !halve(&r.Plan.Resources) {
		return false
	}
	r.Plan.Truncated = true
	return true
}

func halveDriftResources(r *Result) bool {
	if r.Drift == nil || !halve(&r.Drift.Resources) {
		return false
	}
	r.Drift.Truncated = true
	return true
}

func dropMiddleSteps(r *Result) bool {
	n := len(r.Steps)
	if n == 0 {
		return false
	}
	gone := max(1, n/8)
	from := (n - gone) / 2
	r.Steps = slices.Concat(r.Steps[:from], r.Steps[from+gone:])
	return true
}

func halveEnv(r *Result) bool { return r.Env != nil && halve(&r.Env.Dropped) }

func halveUnsaved(r *Result) bool { return r.Unsaved != nil && halve(&r.Unsaved.Resources) }

// halve keeps the first half of the list and reports whether it had anything.
func halve[T any](s *[]T) bool {
	had := len(*s) > 0
	*s = (*s)[:len(*s)/2]
	return had
}

// Limits of the texts in a minimal document, in bytes. Even if each byte took
// two, all of them together leave room for the rest.
const (
	maxWord = 64
	maxHash = 128
	maxName = 253
)

// minimal returns what is always kept of a result that no bite is left of: the operation, the kind of the error,
// plan hash and counts; and what a reader needs not to be misled: where the
// state is, that there is drift, that the run was not over.
func minimal(r *Result) *Result {
	m := &Result{Version: r.Version, Op: word(r.Op), Steps: []Step{}, Drift: r.Drift, Partial: r.Partial, Document: short(r.Document, maxName)}
	m.Runtime.Command = []string{}
	if e := r.Error; e != nil {
		m.Error = &Error{Kind: Kind(word(string(e.Kind))), Reason: Reason(word(string(e.Reason))), Step: word(e.Step)}
	}
	if m.Plan = clone(r.Plan); m.Plan != nil {
		m.Plan.Hash = short(m.Plan.Hash, maxHash)
	}
	if u := r.Unsaved; u != nil {
		m.Unsaved = &Unsaved{Count: u.Count, Resources: []UnsavedResource{}, Planned: short(u.Planned, maxName)}
	}
	if s := r.State; s != nil {
		m.State = &State{Saved: Saved(word(string(s.Saved))), Serial: s.Serial, Lineage: word(s.Lineage), Where: short(s.Where, maxName)}
	}
	return m
}

func word(s string) string { return short(s, maxWord) }

func short(s string, limit int) string { return Cut(Plain(s), limit) }
