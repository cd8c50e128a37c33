package runtime

import "bytes"

// maxLine bounds what is kept of one line of output. A longer one is handed on nearly up to here and
// then marked: it is never a reason to stop reading, and never grows the runner. maxDump is the bound for
// the one line that must not be cut: the state that a runtime prints when it cannot save it anywhere.
const (
	maxLine = 1 << 20
	maxDump = 256 << 20
)

// dumpMessage is how that line begins; its keys are sorted, so the state follows.
var dumpMessage = []byte(`"@message":"Emergency state dump"`)

// dumpWithin is how far into the line the message is looked for.
const dumpWithin = 256

// cutMargin is how much of the end of a cut line is not handed on: half a secret would not be known for one.
const cutMargin = 16 << 10

var cutMark = []byte(" … (line cut)")

// Lines is a writer that hands on whole lines, without their line ends. It is not safe for
// concurrent use: give each stream its own.
type Lines struct {
	each    func(line []byte)
	pending []byte
	cut     bool
}

// NewLines calls each for every line. The slice is valid during the call only.
func NewLines(each func(line []byte)) *Lines { return &Lines{each: each} }

// Write never fails.
func (l *Lines) Write(p []byte) (int, error) {
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

func (l *Lines) keep(p []byte) {
	if start := min(dumpWithin-len(l.pending), len(p)); start > 0 { // the limit depends on it
		l.pending, p = append(l.pending, p[:start]...), p[start:]
	}
	if room := l.limit() - len(l.pending); len(p) > room {
		p, l.cut = p[:room], true
	}
	l.pending = append(l.pending, p...)
}

func (l *Lines) limit() int {
	if len(l.pending) >= dumpWithin && bytes.Contains(l.pending[:dumpWithin], dumpMessage) {
		return maxDump
	}
	return maxLine
}

// Flush hands on a last line that has no line end.
func (l *Lines) Flush() {
	if len(l.pending) > 0 {
		l.emit()
	}
}

func (l *Lines) emit() {
	if l.cut {
		l.pending = append(l.pending[:len(l.pending)-cutMargin], cutMark...)
	}
	l.each(bytes.TrimSuffix(l.pending, []byte("\r")))
	l.pending, l.cut = l.pending[:0], false
	if cap(l.pending) > 64<<10 {
		l.pending = nil // one long line must not be paid for until the end
	}
}
