package state

import (
	"bytes"
	"encoding/json"
)

// object reads an object or null. It calls member for each key, valid until the
// next read, and member reads the value.
func (s *scanner) object(member func(key []byte) error) error {
	if s.token() == 'n' {
		return s.skip()
	}
	return s.list('{', '}', func() error {
		key, err := s.key()
		if err != nil {
			return err
		}
		return member(key)
	})
}

// array reads an array or null. It calls element to read each value.
func (s *scanner) array(element func() error) error {
	if s.token() == 'n' {
		return s.skip()
	}
	return s.list('[', ']', element)
}

// list reads two brackets and what is between them.
func (s *scanner) list(opening, closing byte, element func() error) error {
	if err := s.expect(opening); err != nil {
		return err
	}
	if s.token() == closing {
		s.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch c := s.next(); c {
		case ',':
		case closing:
			return nil
		default:
			return s.unexpected(c)
		}
	}
}

// key reads a key and the colon behind it.
func (s *scanner) key() ([]byte, error) {
	if c := s.token(); c != '"' {
		return nil, s.unexpected(c)
	}
	b := s.buf[s.pos+1 : s.end]
	if n := plainLen(b); n+1 < len(b) && b[n] == '"' && b[n+1] == ':' {
		s.pos += n + 3
		return b[:n], nil
	}
	text, err := s.text()
	if err != nil {
		return nil, err
	}
	s.name = append(s.name[:0], text[1:len(text)-1]...)
	if bytes.IndexByte(text, '\\') >= 0 {
		var key string
		if err := json.Unmarshal(text, &key); err != nil {
			return nil, corrupt("key before byte %d: %w", s.offset(), err)
		}
		s.name = append(s.name[:0], key...)
	}
	return s.name, s.expect(':')
}
