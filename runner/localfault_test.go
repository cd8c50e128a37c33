package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocalStateCannotBeWritten has the folder of one state on a file system where no file can be made; that of all
// states can be written to.
func TestLocalStateCannotBeWritten(t *testing.T) {
	l := &local{dir: t.TempDir(), name: "a/vpc"}
	states := filepath.Join(l.dir, "state")
	if err := os.Mkdir(states, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.checkWritable(); err != nil {
		t.Errorf("a state that is not there yet: %v", err)
	}
	if err := os.Symlink("/sys/kernel", filepath.Join(states, flat(l.name))); err != nil {
		t.Fatal(err)
	}
	if err := l.checkWritable(); err == nil || !strings.Contains(err.Error(), "make the folder "+l.dir) {
		t.Errorf("a state that cannot be written: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(states, ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
