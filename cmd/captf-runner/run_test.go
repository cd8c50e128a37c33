package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// The Go runtime would exit 2, which says that the command line is wrong and that nobody need try again.
func TestPanicIsNoUsageError(t *testing.T) {
	var stderr bytes.Buffer
	code := func() (code int) {
		defer reportPanic(&code, &stderr)
		panic("a fault")
	}()
	if code != result.ExitRetry {
		t.Errorf("exit %d, want %d", code, result.ExitRetry)
	}
	for _, want := range []string{"internal error", "a fault", "TestPanicIsNoUsageError"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr.String())
		}
	}
}

// TestSignalsAreAnswered has somebody press Ctrl-C twice: they read how long that may take, and that it goes no faster.
func TestSignalsAreAnswered(t *testing.T) {
	log, lines := io.Pipe()
	defer log.Close()
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGINT
	signals <- syscall.SIGINT
	defer close(signals)
	watchSignals(signals, runtime.NewStop(time.Minute), newLog(lines, true))
	scanner := bufio.NewScanner(log)
	for _, want := range []string{`"for at most"=1m0s`, "already stopping"} {
		if !scanner.Scan() || !strings.Contains(scanner.Text(), want) {
			t.Errorf("the answer is %q, and does not say %q", scanner.Text(), want)
		}
	}
}
