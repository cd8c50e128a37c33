package result

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// TailSize is the limit of an error's tail, in bytes.
const TailSize = 512

// cutMark ends a text that was cut.
const cutMark = "… [cut]"

// LineCut ends a line that was cut before anybody looked for secrets in it: what stands before it may be the start of
// one.
const LineCut = " … (line cut)"

// Tail returns diagnostics as the tail of an error: plain text of at most
// [TailSize] bytes. The caller has taken secrets out before.
func Tail(diagnostics string) string { return Cut(Plain(diagnostics), TailSize) }

// Cut returns s if it has at most limit bytes. Otherwise it returns the start of
// s, up to a rune boundary, and a mark that says so, together at most limit
// bytes. A limit too small for the mark leaves the mark out.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if limit < len(cutMark) {
		return s[:boundary(s, max(limit, 0))]
	}
	return s[:boundary(s, limit-len(cutMark))] + cutMark
}

// boundary returns the last rune boundary of s at or before i.
func boundary(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// escape matches one terminal escape sequence: a control sequence such as a
// colour, an operating system command such as a window title, or a short one.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])")
})

// Plain returns s as valid UTF-8 without terminal escape sequences and without
// control characters other than line feed and tab. Invalid bytes become U+FFFD.
func Plain(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if strings.IndexFunc(s, isNoise) < 0 {
		return s
	}
	return strings.Map(dropNoise, escape().ReplaceAllString(s, ""))
}

func isNoise(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

func dropNoise(r rune) rune {
	if isNoise(r) {
		return -1
	}
	return r
}
