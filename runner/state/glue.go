package state

import (
	"bytes"
	"hash/maphash"
)

const (
	maxGlue   = 512 // bytes
	glueSlots = 1024
)

// glue is the text between two scalars: brackets, commas, keys, white space. It
// is two thirds of a state, and the same few texts follow each other over and
// over, once for each resource of a type. Where the expected one comes again, at
// a place that is nested in the same way, comparing it proves as much as reading
// it. Without that, a summary takes twice as long as gunzip.
type glue struct {
	text          []byte
	before, after shape
	next          *glue // what followed last time
}

// glues remembers glue. A slot may be given to another text at any time: what
// next points to is a guess, and never trusted.
type glues struct {
	seed maphash.Seed
	slot [glueSlots]glue
	last *glue // the one read last, never nil
}

func newGlues() *glues { return &glues{seed: maphash.MakeSeed(), last: new(glue)} }

// jump reads the glue that is expected, and returns false if it is not there.
func (s *scanner) jump() bool {
	g := s.glues.last.next
	if g == nil || g.before != s.open.shape {
		return false
	}
	rest := s.buf[s.pos:s.end]
	if len(rest) <= len(g.text) || !bytes.Equal(rest[:len(g.text)], g.text) {
		return false
	}
	if g.after.depth > 0 && !startsScalar(rest[len(g.text)]) {
		return false // it goes on
	}
	s.pos += len(g.text)
	s.open.shape = g.after
	s.glues.last = g
	return true
}

// learn reads glue and remembers it, unless it is long, runs over the window's
// end, or is nested deeper than a shape can tell.
func (s *scanner) learn() error {
	from, window, before := s.pos, s.before, s.open.shape
	if err := s.skipGlue(); err != nil {
		return err
	}
	after := s.open.shape
	if s.before != window || s.pos-from > maxGlue || max(before.depth, after.depth) > wordBits {
		return nil
	}
	text := s.buf[from:s.pos]
	g := &s.glues.slot[maphash.Bytes(s.glues.seed, text)%glueSlots]
	if g.before != before || !bytes.Equal(g.text, text) {
		g.text, g.before, g.after = append(g.text[:0], text...), before, after
	}
	s.glues.last.next, s.glues.last = g, g
	return nil
}
