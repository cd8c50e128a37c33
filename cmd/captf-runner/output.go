package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/captf/captf-runner/internal/outlet"
)

// outlets keep a run going whose output nobody reads: what a child has done must be noted even so, and a signal obeyed.
// Both streams of a terminal, or of `2>&1`, are one, which keeps the lines in order.
func outlets(stdout, stderr io.Writer, stopped <-chan struct{}) (out, errOut io.Writer, closeBoth func()) {
	patience := outlet.Patience{Running: 10 * time.Second, Stopped: time.Second}
	first := outlet.New(stdout, patience, stopped)
	if sameFile(stdout, stderr) {
		return first, first, first.Close
	}
	second := outlet.New(stderr, patience, stopped)
	return first, second, func() { first.Close(); second.Close() }
}

func sameFile(a, b io.Writer) bool {
	fileA, okA := a.(*os.File)
	fileB, okB := b.(*os.File)
	if !okA || !okB {
		return a == b
	}
	infoA, errA := fileA.Stat()
	infoB, errB := fileB.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// newLog logs as text. A person who watches a local run has no use for the time.
func newLog(w io.Writer, local bool) *slog.Logger {
	withoutTime := func(groups []string, a slog.Attr) slog.Attr {
		if local && len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
