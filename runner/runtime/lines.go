package runtime

import (
	"bytes"

	"github.com/captf/captf-runner/runner/result"
)

// maxLine bounds what is kept of one line of output, in bytes. A longer one is handed on up to here and ends with
// [result.LineCut]: it is never a reason to stop reading, and never grows the runner. maxWhole is the bound for an event
// that must not be cut.
const (
	maxLine  = 1 << 20
	maxWhole = 256 << 20
)

// The messages of the events that may have any size. The keys of an event are sorted: its message comes before what is
// long in it.
const (
	dumpMessage    = `"@message":"Emergency state dump"` // the state that a runtime can save nowhere
	outputsMessage = `"@message":"Outputs: `
)

// messageWithin is how far into a line its message is looked for, in bytes.
const messageWithin = 256

// lines is a writer that hands on whole lines, without their line ends. It is not safe for
// concurrent use: give each stream its own.
type lines struct {
	each    func(line []byte)
	whole   []string
	pending []byte
	cut     bool
}

// newLines calls each for every line. The slice is valid during the call only. A line with one of the texts of whole
// in its beginning is kept whole, like a printed state.
func newLines(each func(line []byte), whole ...string) *lines {
	return &lines{each: each, whole: append(whole, dumpMessage)}
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return n, nil
		}
		l.keep(p[:i])
		l.emit()
		p = p[i+1:]
	}
}

func (l *lines) keep(p []byte) {
	if start := min(messageWithin-len(l.pending), len(p)); start > 0 { // the limit depends on it
		l.pending, p = append(l.pending, p[:start]...), p[start:]
	}
	if room := l.limit() - len(l.pending); len(p) > room {
		p, l.cut = p[:room], true
	}
	l.pending = append(l.pending, p...)
}

func (l *lines) limit() int {
	if len(l.pending) < messageWithin {
		return maxLine
	}
	for _, text := range l.whole {
		if bytes.Contains(l.pending[:messageWithin], []byte(text)) {
			return maxWhole
		}
	}
	return maxLine
}

// Flush hands on a last line that has no line end.
func (l *lines) Flush() {
	if len(l.pending) > 0 {
		l.emit()
	}
}

func (l *lines) emit() {
	if l.cut {
		l.pending = append(l.pending, result.LineCut...)
	}
	l.each(bytes.TrimSuffix(l.pending, []byte("\r")))
	l.pending, l.cut = l.pending[:0], false
	if cap(l.pending) > 64<<10 {
		l.pending = nil // one long line must not be paid for until the end
	}
}
