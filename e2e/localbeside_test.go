package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestLocalResultsAtOnce has two local runs of one module at once. The first one is killed while it makes a file,
// after the second one has left its result: that must not have taken the place of the first one's. The next run takes
// over both.
func TestLocalResultsAtOnce(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, backends["local"])
		first := f.startMaking(t)

		second := f.run(t, "apply", defaultResult, "--lock-timeout", "0")
		beside := f.resultsBeside(t)
		if len(beside) != 1 || !strings.Contains(second.stderr, filepath.Base(beside[0])) {
			t.Fatalf("results beside the first one's: %q, want one that the second run names\n%s", beside, second)
		}
		second.read(t, beside[0])
		if e := second.result.Error; second.code != result.ExitRetry || e == nil || e.Reason != result.ReasonLocked {
			t.Errorf("the second run was not refused the lock\n%s", second)
		}
		first.killAll(t)

		next := f.resultOf(t, f.run(t, "plan", defaultResult))
		if next.code != 0 || !strings.Contains(next.stderr, "an earlier run began") {
			t.Errorf("exit %d, or it does not tell of the file\n%s", next.code, next)
		}
		wantInFlight(t, next, "probe_file.first")
		if left := f.resultsBeside(t); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// resultsBeside are the results of local runs that went on beside another one.
func (f *fixture) resultsBeside(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(strings.TrimSuffix(f.ownResult(), ".json") + "~*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}
