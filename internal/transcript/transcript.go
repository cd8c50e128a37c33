// Package transcript keeps what a command prints, for tests that read it while the command goes on.
package transcript

import (
	"bytes"
	"sync"
)

// Transcript is what was printed so far. The zero value is empty, and safe for concurrent use.
type Transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer, and never fails.
func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
