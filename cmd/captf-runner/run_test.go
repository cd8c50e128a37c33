package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/result"
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
