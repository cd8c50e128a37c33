package runner

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
)

// maxShown is the most that is printed of one line, in bytes.
const maxShown = 16 << 10

// console prints whole lines without secrets, and on a terminal a live line below them.
type console struct {
	out      io.Writer
	redact   *redact.Redactor
	terminal bool

	mu    sync.Mutex
	alive bool // a live line is shown
}

// Print prints lines for good.
func (c *console) Print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	fmt.Fprintln(c.out, c.safe(text))
}

// safe takes out of a text the secrets, and what a terminal would obey. A secret may hold such characters, or be
// whole only without them: both are looked for.
func (c *console) safe(text string) string {
	text = c.redact.String(result.Plain(c.redact.String(text)))
	if len(text) <= maxShown {
		return text
	}
	var short strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		short.WriteString(result.Cut(line, maxShown))
		if end {
			short.WriteByte('\n')
		}
	}
	return short.String()
}

// Live shows a line until the next Print or Live; empty removes it. It does nothing when there is no terminal.
func (c *console) Live(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.terminal && text != "" {
		fmt.Fprint(c.out, c.redact.String(text))
		c.alive = true
	}
}

// clear removes the live line: carriage return, erase to the end of the line.
func (c *console) clear() {
	if c.alive {
		fmt.Fprint(c.out, "\r\x1b[K")
		c.alive = false
	}
}
