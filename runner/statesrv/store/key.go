package store

import (
	"context"
	"fmt"
	"strings"
)

// Limits of a key, chosen so that every segment is a file name anywhere.
const (
	MaxSegment  = 240
	MaxSegments = 8
)

// CheckKey returns nil for a well-formed key and an error that wraps ErrKey for
// any other string.
func CheckKey(key string) error {
	segments := strings.Split(key, "/")
	if len(segments) > MaxSegments {
		return fmt.Errorf("%w %.64q: more than %d segments", ErrKey, key, MaxSegments)
	}
	for _, s := range segments {
		if !validSegment(s) {
			return fmt.Errorf("%w %.64q", ErrKey, key)
		}
	}
	return nil
}

// Check is where every method of an engine starts: it returns ctx's error, or else that of CheckKey.
func Check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return CheckKey(key)
}

func validSegment(s string) bool {
	if s == "" || len(s) > MaxSegment || s[0] == '.' {
		return false
	}
	for i := range len(s) {
		if !validByte(s[i]) {
			return false
		}
	}
	return true
}

func validByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '-' || c == '%'
}
