package runtime

import "bytes"

// maxLine bounds what is kept of one line of output. A longer one is handed on in full up to here and
// then marked: it is never a reason to stop reading, and never grows the runner.
const maxLine = 1 << 20

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
	if room := maxLine - len(l.pending); len(p) > room {
		p, l.cut = p[:room], true
	}
	l.pending = append(l.pending, p...)
}

// Flush hands on a last line that has no line end.
func (l *Lines) Flush() {
	if len(l.pending) > 0 {
		l.emit()
	}
}

func (l *Lines) emit() {
	if l.cut {
		l.pending = append(l.pending, cutMark...)
	}
	l.each(bytes.TrimSuffix(l.pending, []byte("\r")))
	l.pending, l.cut = l.pending[:0], false
	if cap(l.pending) > 64<<10 {
		l.pending = nil // one long line must not be paid for until the end
	}
}
