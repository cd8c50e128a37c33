package state

func startsScalar(c byte) bool {
	return c == '"' || isDigit(c) || c == '-' || c == 't' || c == 'f' || c == 'n'
}

// skipScalar reads a string, a number, true, false or null.
func (s *scanner) skipScalar() error {
	switch c := s.next(); c {
	case '"':
		return s.skipString()
	case 't':
		return s.skipWord("rue")
	case 'f':
		return s.skipWord("alse")
	case 'n':
		return s.skipWord("ull")
	default:
		return s.skipNumber(c)
	}
}

// skipString reads a string behind its opening quote.
func (s *scanner) skipString() error {
	for {
		b := s.buf[s.pos:s.end]
		n := plainLen(b)
		s.pos += n
		if n < len(b) && b[n] == '"' {
			s.pos++
			return nil
		}
		switch c := s.peek(); {
		case c == '\\':
			s.pos++
			if err := s.skipEscape(); err != nil {
				return err
			}
		case c < ' ':
			return s.unexpected(c)
		}
	}
}

// skipEscape reads what follows a backslash.
func (s *scanner) skipEscape() error {
	c := s.peek()
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
	default:
		return s.unexpected(c)
	}
	for range 4 {
		if c := s.peek(); !isHex(c) {
			return s.unexpected(c)
		}
		s.pos++
	}
	return nil
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// skipWord reads the rest of true, false or null.
func (s *scanner) skipWord(rest string) error {
	for i := range len(rest) {
		if c := s.peek(); c != rest[i] {
			return s.unexpected(c)
		}
		s.pos++
	}
	return nil
}

// skipNumber reads the rest of a number whose first byte, first, was read.
func (s *scanner) skipNumber(first byte) error {
	if first == '-' {
		if first = s.peek(); first != 0 {
			s.pos++
		}
	}
	switch {
	case !isDigit(first):
		return s.unexpected(first)
	case first != '0':
		s.skipDigits()
	}
	if s.peek() == '.' {
		s.pos++
		if c := s.peek(); !isDigit(c) {
			return s.unexpected(c)
		}
		s.skipDigits()
	}
	if c := s.peek(); c != 'e' && c != 'E' {
		return nil
	}
	s.pos++
	if c := s.peek(); c == '+' || c == '-' {
		s.pos++
	}
	if c := s.peek(); !isDigit(c) {
		return s.unexpected(c)
	}
	s.skipDigits()
	return nil
}

func (s *scanner) skipDigits() {
	for isDigit(s.peek()) {
		s.pos++
	}
}
