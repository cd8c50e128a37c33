package state

// maxDepth is the limit of nesting, the same as that of encoding/json.
const maxDepth = 10000

// skip reads one value and forgets it. An object or array is read as scalars and
// the glue between them, in a loop, so that nesting costs no stack.
func (s *scanner) skip() error {
	if c := s.token(); c != '{' && c != '[' {
		return s.skipScalar()
	}
	s.open.reset()
	for {
		if !s.jump() {
			if err := s.learn(); err != nil {
				return err
			}
		}
		if s.open.depth == 0 {
			return nil
		}
		if err := s.skipScalar(); err != nil {
			return err
		}
	}
}

// skipGlue reads from the outermost bracket, or from behind a scalar, up to the
// next scalar, or behind the outermost bracket's end.
func (s *scanner) skipGlue() error {
	for first := s.open.depth == 0; ; first = false {
		if !first {
			if more, err := s.ascend(); !more || err != nil {
				return err
			}
		}
		if scalar, err := s.descend(); scalar || err != nil {
			return err
		}
	}
}

// descend reads opening brackets, and keys, down to a scalar, and returns true,
// or through a pair of brackets with nothing in it.
func (s *scanner) descend() (scalar bool, err error) {
	for {
		c := s.token()
		if c != '{' && c != '[' {
			return true, nil
		}
		s.pos++
		closing := c + 2 // true for both
		if s.token() == closing {
			s.pos++
			return false, nil
		}
		if s.open.depth == maxDepth {
			return false, corrupt("it is nested deeper than %d at byte %d", maxDepth, s.offset())
		}
		s.open.push(closing)
		if closing == '}' {
			if err := s.skipKey(); err != nil {
				return false, err
			}
		}
	}
}

// ascend reads, behind a value, closing brackets up to a comma, and what is in
// front of the next value. It returns false if the outermost bracket has closed.
func (s *scanner) ascend() (more bool, err error) {
	for s.open.depth > 0 {
		closing := s.open.closing()
		switch c := s.next(); {
		case c == closing:
			s.open.pop()
		case c != ',':
			return false, s.unexpected(c)
		case closing == '}':
			return true, s.skipKey()
		default:
			return true, nil
		}
	}
	return false, nil
}

func (s *scanner) skipKey() error {
	if err := s.expect('"'); err != nil {
		return err
	}
	if err := s.skipString(); err != nil {
		return err
	}
	return s.expect(':')
}
