package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// onSmallDisk starts local runs in a folder on a disk of its own, and gives them another one for HOME.
func onSmallDisk(t *testing.T, runtime tools.Runtime) (*fixture, disk) {
	t.Helper()
	f := newFixture(t, runtime, newLocal)
	d, home := smallDisk(t, filepath.Join(f.dir, "disk")), filepath.Join(f.dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, "HOME="+home)
	f.dir = d.dir
	f.config = filepath.Join(d.dir, "config")
	f.write(t, "main.tf", rootModule)
	f.variables(t, nil)
	return f, d
}

// TestFullDiskUnderLocalState fills the disk while resources are made: neither the state server nor the runtime can save
// the state. It is kept elsewhere, and the next run saves it once there is room.
func TestFullDiskUnderLocalState(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, d := onSmallDisk(t, runtime)
		f.slow(t, "1s", true)
		// What the first child has removed could be room enough for the push.
		f.stub(t, `filler='`+filepath.Join(d.dir, "filler")+`'
[ "$1" != state ] || [ ! -e "$filler" ] || dd if=/dev/zero of="$filler" bs=4k oflag=append conv=notrunc 2>/dev/null
exec "$REAL" "$@"`)
		l := f.start(t, "apply", defaultResult)
		l.says(t, creatingFirst)
		d.fill(t)
		o := f.resultOf(t, l.finish(t))
		if e := o.result.Error; o.code != result.ExitPerson || e == nil || e.Reason != result.ReasonDisk || !strings.Contains(e.Tail, "make room on the disk of "+d.dir) {
			t.Errorf("exit %d, error = %+v; want a full disk and what to do\n%s", o.code, e, o)
		}
		if s := o.result.State; s == nil || s.Saved != result.SavedRescueDir {
			t.Fatalf("state = %+v, want it in a folder\n%s", s, o)
		}
		where := o.result.State.Where
		if !strings.Contains(lastLine(o.stderr), where) || !strings.Contains(lastLine(o.stderr), "make room on the disk of "+d.dir) {
			t.Errorf("the last line does not say where the state is, and what to do: %s\n%s", lastLine(o.stderr), o)
		}
		if kept, err := os.ReadFile(where); err != nil || !slices.Equal(parseState(t, kept).addresses(), both) {
			t.Errorf("%s holds no state with both files (%v)\n%s", where, err, o)
		}

		o = f.resultOf(t, f.run(t, "apply", defaultResult))
		if e := o.result.Error; o.code != result.ExitPerson || e == nil || e.Reason != result.ReasonDisk {
			t.Errorf("while it is full: exit %d, error = %+v; want a full disk\n%s", o.code, e, o)
		}
		checkText(t, lastLine(o.stderr), []string{"make room on the disk of " + d.dir, where})

		if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
			t.Fatal(err)
		}
		o = f.resultOf(t, f.run(t, "apply", defaultResult))
		if got := o.steps(); o.code != 0 || got != "init state-push apply" || strings.Contains(o.stdout, "Creating") {
			t.Errorf("exit %d, steps %q; want the kept state to be pushed, and nothing made twice\n%s", o.code, got, o)
		}
		if exists(where) {
			t.Errorf("%s is still there", where)
		}
		f.wantState(t, both...)
	})
}

// TestFullDiskAtLocalLock has no room since the apply began: for what it writes down of its lock, first of all.
func TestFullDiskAtLocalLock(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f, d := onSmallDisk(t, runtime)
		f.stub(t, `[ "$1" != apply ] || dd if=/dev/zero of=../filler bs=4k 2>/dev/null
exec "$REAL" "$@"`)
		o := f.resultOf(t, f.run(t, "apply", defaultResult, "--lock-timeout", "0"))
		if e := o.result.Error; o.code != result.ExitFailed || e == nil || e.Reason != result.ReasonDisk {
			t.Errorf("exit %d, error = %+v; want a full disk\n%s", o.code, e, o)
		}
		checkText(t, lastLine(o.stderr), []string{"make room on the disk of " + d.dir})
	})
}

// TestFullDiskAtLocalStart has no room for anything: that is no error of the command line.
func TestFullDiskAtLocalStart(t *testing.T) {
	f := newBadFixture(t)
	f.backend = newLocal(t, f)
	d := smallDisk(t, filepath.Join(f.dir, ".captf"))
	for _, folders := range []string{"", "results"} {
		if err := os.MkdirAll(filepath.Join(d.dir, folders), 0o700); err != nil {
			t.Fatal(err)
		}
		d.fill(t)
		o := f.run(t, "apply", defaultResult)
		if o.code != result.ExitFailed {
			t.Errorf("exit %d, want %d\n%s", o.code, result.ExitFailed, o)
		}
		checkText(t, lastLine(o.stderr), []string{"no space left on device", "make room on"})
		if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
			t.Fatal(err)
		}
	}
	if calls := f.started(t); calls != "" {
		t.Errorf("the runtime was started: %s", calls)
	}
}

// TestLocalFolderOfAnotherUser has root start a run in another user's folder: what it would leave there, that user could
// not read.
func TestLocalFolderOfAnotherUser(t *testing.T) {
	f := newBadFixture(t)
	f.backend = newLocal(t, f)
	folder := filepath.Join(f.dir, ".captf")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Chown(folder, 1234, 1234)); err != nil {
		t.Fatalf("give a folder away (the tests run as root): %v", err)
	}
	o := f.run(t, "apply")
	if entries, err := os.ReadDir(folder); o.code != result.ExitUsage || err != nil || len(entries) > 0 {
		t.Errorf("exit %d, want %d; root left %v (%v)\n%s", o.code, result.ExitUsage, entries, err, o)
	}
	checkText(t, lastLine(o.stderr), []string{".captf belongs to the user with ID 1234", "sudo -u '#1234'"})
}

// TestReadOnlyLocalState has a folder of states that nobody can write to: that is found before anything runs.
func TestReadOnlyLocalState(t *testing.T) {
	f := newBadFixture(t)
	f.backend = newLocal(t, f)
	states := smallDisk(t, filepath.Join(f.dir, ".captf"))
	if err := os.Mkdir(filepath.Join(states.dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", states.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	o := f.must(t, result.ExitFailed, "apply")
	checkText(t, lastLine(o.stderr), []string{"local state", filepath.Join(states.dir, "state"), "read-only", "make the folder", "writable"})
	if calls := f.started(t); calls != "" || o.result.Error.Reason != result.ReasonConfig {
		t.Errorf("the runtime was started, or it is not for the folder\n%s", o)
	}
	o = f.run(t, "apply", defaultResult)
	checkText(t, lastLine(o.stderr), []string{".captf/results", "read-only", "make that writable"})
	if o.code != result.ExitUsage {
		t.Errorf("exit %d, want %d", o.code, result.ExitUsage)
	}
}

// defaultResult is the flag that names the default place of the result: in a local run one below .captf.
const defaultResult = "--result=/dev/termination-log"

// resultOf reads the result of a local run where it is by default.
func (f *fixture) resultOf(t *testing.T, o outcome) outcome {
	t.Helper()
	o.read(t, f.ownResult())
	return o
}

func (f *fixture) ownResult() string { return filepath.Join(f.dir, ".captf", "results", "config.json") }
