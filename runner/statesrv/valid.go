package statesrv

import (
	"encoding/binary"
	"encoding/json"
)

// maxDepth is how deep a document may be nested; it is encoding/json's own limit.
const maxDepth = 10_000

// validJSON is json.Valid, several times as fast on what it finds valid: it is most
// of what a write costs the processor.
func validJSON(data []byte) bool {
	s := scanner{data: data}
	s.space()
	if s.value(0) {
		s.space()
		if s.i == len(data) {
			return true
		}
	}
	return json.Valid(data)
}

// scanner goes through a document once. Its methods report whether they found what
// they look for, and leave i behind it.
type scanner struct {
	data []byte
	i    int
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
	for c := s.next(); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = s.next() {
		s.i++
	}
}

func (s *scanner) value(depth int) bool {
	switch c := s.next(); c {
	case '"':
		return s.text()
	case '{':
		return s.list(depth+1, '}', s.member)
	case '[':
		return s.list(depth+1, ']', s.value)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// list is an array or an object: items between commas.
func (s *scanner) list(depth int, end byte, item func(depth int) bool) bool {
	s.i++
	s.space()
	if s.is(end) {
		return depth <= maxDepth
	}
	for depth <= maxDepth {
		if s.space(); !item(depth) {
			return false
		}
		if s.space(); s.is(end) {
			return true
		}
		if !s.is(',') {
			return false
		}
	}
	return false
}

func (s *scanner) member(depth int) bool {
	if s.next() != '"' || !s.text() {
		return false
	}
	if s.space(); !s.is(':') {
		return false
	}
	s.space()
	return s.value(depth)
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
		s.plain()
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

// plain goes on while the next eight bytes are ordinary ones of a string: none is a
// quote, a backslash or below a space.
func (s *scanner) plain() {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for len(s.data)-s.i >= 8 {
		x := binary.LittleEndian.Uint64(s.data[s.i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		found := (x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash
		if found&tops != 0 {
			return
		}
		s.i += 8
	}
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
