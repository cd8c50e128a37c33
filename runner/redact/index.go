package redact

import (
	"slices"
	"strings"
)

// headSize is how many bytes of a pattern it is found by. MinLength runes are at least as many.
const headSize = MinLength

type head [headSize]byte

// index finds the longest of many patterns at a place in a text. The bitmap answers for almost
// every place that there is none, without a look into the map.
type index struct {
	pairs  [1 << 16 / 64]uint64 // a bit for the first two bytes of each pattern
	byHead map[head][]string    // longest first
	most   int                  // length of the longest of all
}

func (x *index) add(pattern string) {
	if len(pattern) < headSize {
		return // normalising made it short: four runes into one
	}
	if x.byHead == nil {
		x.byHead = make(map[head][]string)
		x.add(Placeholder) // so that what is redacted stays as it is, whatever the secrets are
	}
	h := head([]byte(pattern[:headSize]))
	longestFirst := func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	}
	at, known := slices.BinarySearchFunc(x.byHead[h], pattern, longestFirst)
	if known {
		return
	}
	x.byHead[h] = slices.Insert(x.byHead[h], at, pattern)
	x.most = max(x.most, len(pattern))
	word, bit := pair(pattern)
	x.pairs[word] |= bit
}

// withoutStart returns s without ends of it that are the start of a pattern.
func (x *index) withoutStart(s string) string {
	for i := max(0, len(s)-x.most); i < len(s); i++ {
		if x.starts(s[i:]) {
			return x.withoutStart(s[:i]) // it may have been the end of another pattern
		}
	}
	return s
}

// starts reports whether a pattern starts with s and is longer.
func (x *index) starts(s string) bool {
	if len(s) < headSize {
		for h := range x.byHead {
			if strings.HasPrefix(string(h[:]), s) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(x.byHead[head([]byte(s[:headSize]))], func(pattern string) bool {
		return len(pattern) > len(s) && strings.HasPrefix(pattern, s)
	})
}

// longest returns the length of the longest pattern that s starts with, 0 if there is none.
func (x *index) longest(s string) int {
	if len(s) < headSize {
		return 0
	}
	if word, bit := pair(s); x.pairs[word]&bit == 0 {
		return 0
	}
	for _, pattern := range x.byHead[head([]byte(s[:headSize]))] {
		if strings.HasPrefix(s, pattern) {
			return len(pattern)
		}
	}
	return 0
}

func (x *index) replace(s string) string {
	if x.byHead == nil {
		return s
	}
	var out strings.Builder
	done := 0 // s[:done] is in out
	for i := 0; i < len(s); i++ {
		n := x.longest(s[i:])
		if n == 0 {
			continue
		}
		out.WriteString(s[done:i])
		out.WriteString(Placeholder)
		done = x.overlapping(s, i, i+n)
		i = done - 1
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// overlapping returns where the chain of matches ends in which each begins inside the one
// before it; the first is s[start:end].
func (x *index) overlapping(s string, start, end int) int {
	for i := start + 1; i < end; i++ {
		end = max(end, i+x.longest(s[i:]))
	}
	return end
}

// pair is the place of the first two bytes of s in the bitmap.
func pair(s string) (word int, bit uint64) {
	n := int(s[0])<<8 | int(s[1])
	return n / 64, 1 << (n % 64)
}
