package result

import (
	"bytes"
	"encoding/json"
	"slices"
)

// MaxSize is the limit of an encoded result, in bytes: the kubelet cuts a
// longer termination message.
const MaxSize = 4096

// Encode returns the result as JSON of at most [MaxSize] bytes, valid UTF-8
// whatever the texts in it hold, on one line. What does not fit is dropped in
// the order of spec/runner.md, "The result". The argument is not changed.
func Encode(r *Result) []byte { return EncodeMax(r, MaxSize) }

// EncodeMax is Encode with another limit, in bytes, for a place with more room.
// A limit below [MaxSize] is taken for MaxSize.
func EncodeMax(r *Result, limit int) []byte {
	limit = max(limit, MaxSize)
	c := normal(r)
	doc := marshal(c)
	for _, bite := range bites() {
		for len(doc) > limit && bite(c) {
			doc = marshal(c)
		}
	}
	if len(doc) > limit {
		doc = marshal(minimal(c))
	}
	return doc
}

// marshal cannot fail: our documents hold nothing that JSON cannot express, and
// encoding/json replaces invalid UTF-8.
func marshal(document any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // six bytes for each < would cost a tail
	_ = enc.Encode(document)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// normal returns a copy of r that may be shrunk: lists are never null, texts
// are plain, and the tail has its size. It shares list elements with r.
func normal(r *Result) *Result {
	c := *r
	c.Version = Version
	c.Steps = list(c.Steps)
	c.Runtime.Command = list(c.Runtime.Command)
	c.Plan = clone(c.Plan)
	if c.Drift = clone(c.Drift); c.Drift != nil {
		c.Drift.Resources = list(c.Drift.Resources)
	}
	if c.Env = clone(c.Env); c.Env != nil {
		c.Env.Dropped = list(c.Env.Dropped)
	}
	if c.Unsaved = clone(c.Unsaved); c.Unsaved != nil {
		c.Unsaved.Resources = list(c.Unsaved.Resources)
	}
	if c.Lock = clone(c.Lock); c.Lock != nil {
		// Whoever took the lock chose these texts.
		c.Lock.Who, c.Lock.Operation = Plain(c.Lock.Who), Plain(c.Lock.Operation)
	}
	if c.Error = clone(c.Error); c.Error != nil {
		c.Error.Tail = Tail(c.Error.Tail)
		c.Error.Resources = slices.Clone(c.Error.Resources)
		for i := range c.Error.Resources {
			c.Error.Resources[i].Summary = Plain(c.Error.Resources[i].Summary)
		}
	}
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// list returns s, or an empty list that JSON shows as [].
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
