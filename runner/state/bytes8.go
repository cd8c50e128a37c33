package state

import (
	"encoding/binary"
	"math/bits"
)

// Gunzip delivers a byte in one to two nanoseconds. To keep up, white space and
// strings, which are most of a state, are read eight bytes at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// spaceLen returns how many bytes of white space b starts with.
func spaceLen(b []byte) int {
	i := 0
	for i < len(b) && isSpace(b[i]) {
		i++
		for i+8 <= len(b) { // indentation
			other := binary.LittleEndian.Uint64(b[i:]) ^ ' '*ones
			i += bits.TrailingZeros64(other) / 8
			if other != 0 {
				break
			}
		}
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// plainLen returns how many bytes of b precede the first that is special in a
// string: a quote, a backslash or a control character.
func plainLen(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if special := special8(binary.LittleEndian.Uint64(b[i:])); special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// special8 returns a word whose lowest set bit is in the lowest special byte of
// x, or 0. A subtraction borrows from the high bit of a byte that is less than
// what is taken away; the exclusive or puts quote and control characters, and
// nothing else, below 0x21, and the backslash below 1.
func special8(x uint64) uint64 {
	control := (x ^ 0x02*ones) - 0x21*ones
	backslash := (x ^ '\\'*ones) - ones
	return (control | backslash) &^ x & highs
}
