package statesrv

import (
	"fmt"
	"strings"
)

// Limits of a state's name.
const (
	maxName     = 200 // bytes, so that the escaped name is a file name anywhere
	maxSegment  = 128
	maxSegments = 8
)

// CheckName returns nil if name can be a state's name: segments of letters,
// digits, ".", "_" and "-", joined by "/", none of them empty or starting with a
// dot; at most 200 bytes, 8 segments, and 128 bytes in each. Otherwise it returns
// a Refusal with status 400. Different names are different states.
func CheckName(name string) error {
	segments := strings.Split(name, "/")
	switch {
	case name == "":
		return badRequest("the state's name is empty")
	case len(name) > maxName:
		return badRequest(fmt.Sprintf("the state's name has %d bytes; at most %d are possible", len(name), maxName))
	case len(segments) > maxSegments:
		return badRequest(fmt.Sprintf("state name %q has more than %d segments", name, maxSegments))
	}
	for _, s := range segments {
		if !validSegment(s) {
			return badRequest(fmt.Sprintf("state name %q: each segment is 1 to %d letters, digits, dots, dashes or underscores and starts with no dot", name, maxSegment))
		}
	}
	return nil
}

func validSegment(s string) bool {
	if s == "" || len(s) > maxSegment || s[0] == '.' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !validRune(r) }) < 0
}

func validRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return r == '.' || r == '_' || r == '-'
}

// The first segment of a state's keys is its name with "/" as "%2F", as in its
// URL. A name has no "%", so no two names share a key.
const escapedSlash = "%2F"

func dirOf(name string) string { return strings.ReplaceAll(name, "/", escapedSlash) }

// nameOf is the inverse of dirOf; ok is false for a key that is no state's.
func nameOf(dir string) (name string, ok bool) {
	name = strings.ReplaceAll(dir, escapedSlash, "/")
	return name, CheckName(name) == nil
}

func headKey(name string) string   { return dirOf(name) + "/head.json" }
func eventsKey(name string) string { return dirOf(name) + "/" + eventsFile }
