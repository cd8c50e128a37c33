package runner

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/runtime"
)

// TestTakenResultStaysUntilTheEnd takes over what a result beside this one tells: a run that is killed before it has
// written its whole result must not take the news with it.
func TestTakenResultStaysUntilTheEnd(t *testing.T) {
	own := filepath.Join(t.TempDir(), "vpc.json")
	beside, err := newBeside(own)
	news := `{"version":1,"op":"apply","error":null,"unsaved":{"count":1,"resources":[{"address":"a.b","action":"create"}]}}`
	if err := errors.Join(err, os.WriteFile(beside, []byte(news), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := newRun(Options{Result: own, ownResult: true}, Host{Log: slog.New(slog.DiscardHandler), Stop: runtime.NewStop(0)})
	defer r.release()
	if err := r.openResult(); err != nil {
		t.Fatal(err)
	}
	if r.report.earlier == nil || r.report.earlier.Count != 1 || !exists(beside) {
		t.Errorf("taken over: %+v; the result is there: %v, want the news and the result", r.report.earlier, exists(beside))
	}
	if _, err := r.finish(nil); err != nil || exists(beside) {
		t.Errorf("at the end: %v; the result is there: %v, want it gone", err, exists(beside))
	}
}

// TestTakenResultStaysWithoutAnother has a run that took over what a result beside its own tells, and then could not open
// its own.
func TestTakenResultStaysWithoutAnother(t *testing.T) {
	beside := filepath.Join(t.TempDir(), "vpc~1.json")
	put(t, beside, "{}")
	r := newRun(Options{}, Host{Log: slog.New(slog.DiscardHandler), Stop: runtime.NewStop(0)})
	r.legacy.results = []string{beside}
	if _, err := r.finish(errors.New("no result file")); err == nil || !exists(beside) {
		t.Errorf("at the end: %v; the result is there: %v, want it to stay", err, exists(beside))
	}
}

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
	found, err := resultsBeside(own)
	if diff := cmp.Diff([]string{ended}, found); diff != "" || err != nil {
		t.Errorf("results (-want +got): %v\n%s", err, diff)
	}
}
