package naming

import "strings"

const (
	maxLabel     = 63
	maxSubdomain = 253
)

// isDNSLabel reports whether s is a label of RFC 1123 in lower case.
func isDNSLabel(s string) bool {
	return len(s) <= maxLabel && isDNSPart(s)
}

// isDNSSubdomain reports whether s is what Kubernetes accepts as most objects'
// name: parts joined by dots, which may each be longer than a label.
func isDNSSubdomain(s string) bool {
	if len(s) > maxSubdomain {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if !isDNSPart(part) {
			return false
		}
	}
	return true
}

func isDNSPart(s string) bool {
	return s != "" && s[0] != '-' && s[len(s)-1] != '-' && allBytes(s, func(c byte) bool {
		return isLowerAlnum(c) || c == '-'
	})
}

func isLowerAlnum(c byte) bool { return 'a' <= c && c <= 'z' || isDigit(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLowerHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }

// allBytes reports whether every byte of s passes ok.
func allBytes(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
