package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResultsBeside has results beside one of a local run: only that of a run that has ended is taken over. A result
// that was just made is not locked yet, and its run would find it locked by the one that looks.
func TestResultsBeside(t *testing.T) {
	own := filepath.Join(t.TempDir(), "vpc.json")
	beside := func(document string) string {
		path, err := newBeside(own)
		if err := errors.Join(err, os.WriteFile(path, []byte(document), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ended, living := beside("{}"), beside("{}")
	beside("") // just made
	lock, err := flock(living, errInUse)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(resultStem(ended)+"-result.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{ended}, resultsBeside(own)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
