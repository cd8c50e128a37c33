package statesrv

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// span is where a value is in a document.
type span struct{ from, to int }

// maxDepth is how deep a document may be nested; it is encoding/json's own limit.
const maxDepth = 10_000

// scan reports whether data is valid JSON, as json.Valid does, in a fraction of the
// time: it is most of what a write costs the processor. If data is an object, field
// is called on the way for each of its own fields, before the rest is known to be
// valid; nothing is kept of a field, however many there are.
func scan(data []byte, field func(name string, value span)) (valid bool) {
	s := scanner{data: data, field: field}
	s.space()
	if !s.value(0) {
		return false
	}
	s.space()
	return s.i == len(data)
}

// scanner goes through a document once. Its methods report whether they found what
// they look for, and leave i behind it.
type scanner struct {
	data  []byte
	i     int
	field func(name string, value span)
}

// next returns the byte at i, or 0 at the end, which is valid nowhere.
func (s *scanner) next() byte {
	if s.i < len(s.data) {
		return s.data[s.i]
	}
	return 0
}

func (s *scanner) is(c byte) bool {
	if s.next() != c {
		return false
	}
	s.i++
	return true
}

func (s *scanner) space() {
	for c := s.next(); c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r'); c = s.next() {
		s.i++
	}
}

// value is one value inside depth others.
func (s *scanner) value(depth int) bool {
	switch s.next() {
	case '"':
		return s.text()
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.array(depth + 1)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) object(depth int) bool {
	s.i++
	if s.space(); s.is('}') {
		return depth <= maxDepth
	}
	for depth <= maxDepth && s.member(depth) {
		switch s.space(); {
		case s.is('}'):
			return true
		case !s.is(','):
			return false
		}
		s.space()
	}
	return false
}

// member is a name and its value in an object.
func (s *scanner) member(depth int) bool {
	name := s.i
	if s.next() != '"' || !s.text() {
		return false
	}
	end := s.i
	if s.space(); !s.is(':') {
		return false
	}
	s.space()
	from := s.i
	if !s.value(depth) {
		return false
	}
	if depth == 1 && s.field != nil {
		s.field(unquote(s.data[name:end]), span{from, s.i})
	}
	return true
}

func unquote(quoted []byte) string {
	var s string
	_ = json.Unmarshal(quoted, &s) // it is valid
	return s
}

func (s *scanner) array(depth int) bool {
	s.i++
	if s.space(); s.is(']') {
		return depth <= maxDepth
	}
	for depth <= maxDepth && s.value(depth) {
		switch s.space(); {
		case s.is(']'):
			return true
		case !s.is(','):
			return false
		}
		s.space()
	}
	return false
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.i < len(w) || string(s.data[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) number() bool {
	s.is('-')
	if !s.is('0') && !s.digits() {
		return false
	}
	if s.is('.') && !s.digits() {
		return false
	}
	if s.is('e') || s.is('E') {
		if !s.is('+') {
			s.is('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	from := s.i
	for c := s.next(); '0' <= c && c <= '9'; c = s.next() {
		s.i++
	}
	return s.i > from
}

func (s *scanner) text() bool {
	s.i++
	for {
		s.i = plain(s.data, s.i)
		switch c := s.next(); {
		case c == '"':
			s.i++
			return true
		case c < ' ': // also the end
			return false
		case c == '\\':
			if !s.escape() {
				return false
			}
		default:
			s.i++
		}
	}
}

// plain returns the index of the next byte from i on that is not an ordinary one of a
// string: a quote, a backslash or one below a space. It looks at eight at a time, and
// may stop short of it near the end.
func plain(data []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(data)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		found := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if found != 0 { // its lowest bit is of the first such byte
			return i + bits.TrailingZeros64(found)/8
		}
	}
	return i
}

func (s *scanner) escape() bool {
	s.i++
	c := s.next()
	s.i++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if !s.hex() {
				return false
			}
		}
		return true
	}
	return false
}

func (s *scanner) hex() bool {
	c := s.next()
	s.i++
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
