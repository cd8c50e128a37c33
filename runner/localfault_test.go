package runner

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
	"github.com/captf/captf-runner/runner/statesrv"
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

// TestWayOutOfDamage sends nobody to another folder, where everything would be made a second time.
func TestWayOutOfDamage(t *testing.T) {
	l := &local{dir: "/d", name: "a/vpc"}
	for _, err := range []error{statesrv.ErrDamaged, os.ErrPermission, syscall.ENOSPC, os.ErrInvalid} {
		if got := l.wayOut(err); strings.Contains(got, "start the run in another folder") || err == statesrv.ErrDamaged && !strings.Contains(got, "empty state") {
			t.Errorf("of %v it says %q", err, got)
		}
	}
}

// TestReleaseOnAFullDisk names the unsaved state, and what to do. The error is made up: a real disk has room for it.
func TestReleaseOnAFullDisk(t *testing.T) {
	r := newRun(Options{Local: true, ownResult: true}, Host{Stop: runtime.NewStop(0), Log: slog.New(slog.DiscardHandler)})
	kept := "/elsewhere/" + rescuedPrefix + "x" + keptSuffix
	r.local, r.report.State = &local{dir: "/d"}, &result.State{Saved: result.SavedRescueDir, Where: kept}
	f := asFailure(r.notReleased(fmt.Errorf("swap head: %w", syscall.ENOSPC)), r.stop)
	if text := f.Error(); f.reason != result.ReasonDisk || !strings.Contains(text, "make room on the disk of /d") || !strings.Contains(text, kept) {
		t.Errorf("reason %s: %s", f.reason, text)
	}
}

// TestWorkdirErrorIsPlain tells of what os.RemoveAll met in words that a person knows, and of a way that a local run has,
// too.
func TestWorkdirErrorIsPlain(t *testing.T) {
	text := workdirError(&os.PathError{Op: "openfdat", Path: "/w/root", Err: syscall.EACCES}).Error()
	if want := "workdir: open /w/root: permission denied: make it and all in it writable"; !strings.HasPrefix(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}
