package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const windowSize = 32 << 10

// scanner reads JSON, strictly, from a window that moves over a reader. What is
// skipped is checked but not kept, so memory does not depend on the input.
//
// Methods that return a byte return 0 when the input is over or fails. No token
// starts with that byte, so it ends up in unexpected, which knows the cause.
type scanner struct {
	r        io.Reader
	err      error // of r
	buf      []byte
	pos, end int   // the unread part of buf
	before   int64 // bytes in earlier windows

	mark  int     // where in buf the text to keep starts, -1 for none
	kept  []byte  // what earlier windows had of that text
	name  []byte  // the last key
	open  nesting // within the value that skip reads
	glues *glues
}

func newScanner(r io.Reader, window int) *scanner {
	return &scanner{r: r, buf: make([]byte, window), mark: -1, glues: newGlues()}
}

// offset returns the number of bytes read so far.
func (s *scanner) offset() int64 { return s.before + int64(s.pos) }

// fill moves the window on. It returns false, and sets err, at the end.
func (s *scanner) fill() bool {
	if s.mark >= 0 {
		s.kept = append(s.kept, s.buf[s.mark:s.end]...)
		s.mark = 0
	}
	s.before += int64(s.end)
	s.pos, s.end = 0, 0
	for range 100 {
		n, err := s.r.Read(s.buf)
		if n > 0 {
			s.end = n
			return true
		}
		if err != nil {
			s.err = err
			return false
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// unexpected returns the error for c where it must not be.
func (s *scanner) unexpected(c byte) error {
	switch s.err {
	case nil:
		return corrupt("it is not the JSON of a state: unexpected %q at byte %d", c, s.offset())
	case io.EOF:
		return corrupt("it is not JSON: it ends in the middle, at byte %d", s.offset())
	}
	return s.err
}

// peek returns the next byte, white space too, without reading it.
func (s *scanner) peek() byte {
	if s.pos == s.end && !s.fill() {
		return 0
	}
	return s.buf[s.pos]
}

// token skips white space and returns the byte behind it without reading it.
func (s *scanner) token() byte {
	for {
		s.pos += spaceLen(s.buf[s.pos:s.end])
		if s.pos < s.end {
			return s.buf[s.pos]
		}
		if !s.fill() {
			return 0
		}
	}
}

// next skips white space and reads the byte behind it.
func (s *scanner) next() byte {
	if s.pos < s.end {
		if c := s.buf[s.pos]; c > ' ' {
			s.pos++
			return c
		}
	}
	return s.nextSlow()
}

func (s *scanner) nextSlow() byte {
	c := s.token()
	if c != 0 {
		s.pos++
	}
	return c
}

// expect skips white space and reads c.
func (s *scanner) expect(c byte) error {
	if got := s.next(); got != c {
		return s.unexpected(got)
	}
	return nil
}

// finish checks that only white space is left.
func (s *scanner) finish() error {
	if c := s.token(); s.err != io.EOF {
		return s.unexpected(c)
	}
	return nil
}

// text reads a value and returns how it is written, valid until the next read.
func (s *scanner) text() ([]byte, error) {
	s.token()
	s.mark, s.kept = s.pos, s.kept[:0]
	err := s.skip()
	text := s.buf[s.mark:s.pos]
	if len(s.kept) > 0 {
		s.kept = append(s.kept, text...)
		text = s.kept
	}
	s.mark = -1
	return text, err
}

// raw reads a value and returns a copy of how it is written.
func (s *scanner) raw() (json.RawMessage, error) {
	text, err := s.text()
	return bytes.Clone(text), err
}

// decode reads a value into target as encoding/json does.
func (s *scanner) decode(target any) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, target)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return corrupt("value before byte %d: a state has no %s there", s.offset(), wrong.Value)
	case err != nil:
		return corrupt("value before byte %d: %w", s.offset(), err)
	}
	return nil
}
