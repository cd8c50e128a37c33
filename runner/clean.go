package runner

import (
	"slices"

	"github.com/captf/captf-runner/runner/result"
)

// cleaned is a copy of the result so far in which no free text holds a secret: a key of for_each, an object's ID,
// an argument of --bin. What a reader decides by or looks up (kinds, IDs of locks, names of objects) stays as it is:
// a password that is the word "apply" must not make the document say that something else ran.
func (rp *report) cleaned() *result.Result {
	clean := rp.redact.String
	c := *rp.Result
	c.Runtime.Command = each(c.Runtime.Command, func(s *string) { *s = clean(*s) })
	c.Plan = changed(c.Plan, func(p *result.Plan) { p.Resources = each(p.Resources, rp.cleanChange) })
	c.Drift = changed(c.Drift, func(d *result.Drift) { d.Resources = each(d.Resources, rp.cleanChange) })
	c.Lock = changed(c.Lock, func(l *result.Lock) { l.Who, l.Operation = clean(l.Who), clean(l.Operation) })
	c.Unsaved = changed(withEarlier(c.Unsaved, rp.earlier), func(u *result.Unsaved) {
		u.Resources = each(u.Resources, func(u *result.UnsavedResource) { u.Address, u.ID = clean(u.Address), clean(u.ID) })
	})
	c.Error = changed(c.Error, func(e *result.Error) {
		e.Tail = clean(e.Tail)
		e.Resources = each(e.Resources, func(e *result.ErrorResource) { e.Address, e.Summary = clean(e.Address), clean(e.Summary) })
	})
	return &c
}

func (rp *report) cleanChange(c *result.Change) { c.Address = rp.redact.String(c.Address) }

// changed is a changed copy; of nil it is nil.
func changed[T any](p *T, change func(*T)) *T {
	if p == nil {
		return nil
	}
	c := *p
	change(&c)
	return &c
}

// each is a copy with changed elements; of nil it is nil.
func each[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		change(&list[i])
	}
	return list
}
