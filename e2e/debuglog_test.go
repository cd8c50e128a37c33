package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// The debug log goes to its file and nowhere else.
func TestDebugLog(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newLocal)
		log := filepath.Join(f.dir, "debug.log")
		o := f.must(t, 0, "apply", "--debug-log", log)
		if data, err := os.ReadFile(log); err != nil || !strings.Contains(string(data), "[DEBUG]") {
			t.Errorf("the debug log has %d bytes and no debug line (%v)", len(data), err)
		}
		if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the debug log, which may hold credentials: %v, %v, want mode 0600", info, err)
		}
		if strings.Contains(o.stdout+o.stderr, "[DEBUG]") {
			t.Errorf("the debug log is in the output\n%s", o)
		}
	})
}
