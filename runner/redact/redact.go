// Package redact replaces secrets in text that leaves a run: log lines, the result, events and
// errors (spec/runner.md, "Secrets stay secret").
//
// A [Redactor] learns values with Add, in its own form and in the forms that programs print it
// in, and String replaces them. [FromEnv] and [FromVariables] find the values to add; what a
// plan marks as sensitive comes from package plan.
//
// # Limits
//
// Text must come in whole pieces: a secret that is split over two calls of String is seen in
// neither, so callers redact whole lines, and mark those that were cut. A runtime breaks the lines of its human output at
// spaces; its -json output, which the runner reads, has them whole.
//
// A value of fewer than [MinLength] characters, not counting space around it, and the words true, false and null, are
// never replaced: they are everywhere in honest text, and replacing them would hide nothing and make a log
// unreadable. A secret inside a larger text that was encoded as a whole (base64 of "user:secret") is not found.
//
// The result is text for people. Replacing inside a JSON document may break it, so documents
// are redacted string by string, before they are encoded.
package redact

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/captf/captf-runner/runner/result"
)

// Placeholder stands for a secret in redacted text.
const Placeholder = "(sensitive)"

// MinLength is the number of characters (runes) from which on a value, or a line of a value, is
// replaced.
const MinLength = 4

// Redactor replaces the values that it was told. It is safe for concurrent use: String sees
// every value whose Add has returned.
type Redactor struct {
	mu    sync.RWMutex
	known index
}

// New returns a Redactor that knows no value yet.
func New() *Redactor { return &Redactor{} }

// Add makes every later String replace values, each line of a value that has several, and the
// escaped and encoded forms of both: as JSON, HCL and Go write them in quotes, in a URL, and the
// base64 of a whole value. Values that are too short or too common are ignored: see the package
// comment.
func (r *Redactor) Add(values ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range values {
		for _, form := range forms(v) {
			r.known.add(form)
		}
	}
}

// String returns s with every occurrence of every known value replaced by [Placeholder]. Where
// two values overlap, one placeholder stands for both, so that no end of either is left over.
// Redacting a text twice is the same as once, unless a value holds a parenthesis of the placeholder.
//
// Of a line that ends with [result.LineCut] the rest is missing: an end that may be the start of a value is taken away.
func (r *Redactor) String(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if strings.Contains(s, result.LineCut) {
		parts := strings.Split(s, result.LineCut)
		for i := range len(parts) - 1 {
			parts[i] = r.known.withoutStart(parts[i])
		}
		s = strings.Join(parts, result.LineCut)
	}
	return r.known.replace(s)
}

// worthHiding reports whether a text is long and rare enough to be replaced. Space around it
// does not count: a value of four spaces would take all indentation with it.
func worthHiding(s string) bool {
	s = strings.TrimSpace(s)
	switch s {
	case "true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL":
		return false
	}
	return utf8.RuneCountInString(s) >= MinLength
}
