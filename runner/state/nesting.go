package state

// nesting is which brackets are open. The innermost 1 to 64 are bits.
type nesting struct {
	shape
	outer []uint64 // full words, outermost first
}

// shape tells how a place is nested, unless it is nested deeper than 64.
type shape struct {
	depth  int
	braces uint64 // 1 for a brace, 0 for a bracket, the innermost lowest
}

const wordBits = 64

func (n *nesting) reset() { n.shape, n.outer = shape{}, n.outer[:0] }

func (n *nesting) push(closing byte) {
	if n.depth > 0 && n.depth%wordBits == 0 {
		n.outer = append(n.outer, n.braces)
	}
	n.depth++
	n.braces <<= 1
	if closing == '}' {
		n.braces |= 1
	}
}

func (n *nesting) pop() {
	n.depth--
	n.braces >>= 1
	if n.depth > 0 && n.depth%wordBits == 0 {
		last := len(n.outer) - 1
		n.braces, n.outer = n.outer[last], n.outer[:last]
	}
}

// closing returns the closing bracket of the innermost one.
func (n *nesting) closing() byte {
	if n.braces&1 == 1 {
		return '}'
	}
	return ']'
}
