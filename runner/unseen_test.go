package runner

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/root"
	"github.com/captf/captf-runner/runner/runtime"
)

// nobody is a user who owns nothing.
const nobody = 65534

// asNobody looks at files as a user who is not root: for that one nothing is unreadable.
func asNobody(look func()) {
	goruntime.LockOSThread() // the user of files is the thread's
	defer goruntime.UnlockOSThread()
	if own, _ := unix.SetfsuidRetUid(nobody); own == 0 {
		defer func() { _ = unix.Setfsuid(own) }()
	}
	look()
}

// publicDir is a temporary folder that everybody may search.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// put makes a file with all folders above it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// shut makes a folder one that its owner, nobody, may not read, though he may write to it.
func shut(t *testing.T, dir string) {
	t.Helper()
	give(t, dir)
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
}

// give makes nobody the owner of a folder; without the right to do so whoever runs the tests is nobody.
func give(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chown(dir, nobody, nobody); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
}

func quietRun() *run {
	return &run{log: slog.New(slog.DiscardHandler), redact: redact.New(), report: report{Result: &result.Result{Lock: &result.Lock{}}}, inputs: inputs{module: &root.Module{}}}
}

// TestUnreadFolder has folders that cannot be read: nothing in them may be taken for absent. Each look says so, and names
// the folder.
func TestUnreadFolder(t *testing.T) {
	for name, look := range map[string]func(dir string) error{
		"the root of an earlier run": func(dir string) error {
			return workspace{dir: filepath.Dir(dir), root: dir}.make(slog.New(slog.DiscardHandler))
		},
		"the working directory": func(dir string) error {
			r := quietRun()
			r.work = newWorkspace(dir)
			return r.pushKept(t.Context())
		},
		"runs beside this one":    func(dir string) error { _, err := neighbours(filepath.Join(dir, "work")); return err },
		"results beside this one": func(dir string) error { _, err := resultsBeside(filepath.Join(dir, "vpc.json")); return err },
		"variables": func(dir string) error {
			r := quietRun()
			r.work.root = dir
			return r.collectVariables()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(publicDir(t), "root")
			put(t, filepath.Join(dir, erroredState), "{}")
			shut(t, dir)
			asNobody(func() {
				if err := look(dir); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir) {
					t.Errorf("error = %v, want permission denied for %s", err, dir)
				}
			})
			if !exists(filepath.Join(dir, erroredState)) {
				t.Error("the unread state is gone")
			}
		})
	}
}

// TestUnreadNeighbourStays has a directory that was made beside the wanted one, and in it a folder that cannot be read: it
// may hold a state, so the next run has to find it again.
func TestUnreadNeighbourStays(t *testing.T) {
	w := newWorkspace(filepath.Join(publicDir(t), "work"))
	if err := w.claimBeside(); err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(w.root, "module")
	put(t, filepath.Join(module, erroredState), "{}")
	give(t, w.dir)
	give(t, w.root)
	shut(t, module)
	asNobody(w.release)
	if !exists(filepath.Join(w.dir, runningFile)) {
		t.Error("the next run does not find the directory any more")
	}
}

// TestHalfRemovedNeighbour has such a directory, and a folder in it that cannot be removed: the next run finds it again.
func TestHalfRemovedNeighbour(t *testing.T) {
	w := newWorkspace(filepath.Join(publicDir(t), "work"))
	if err := w.claimBeside(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(w.dataDir(), "providers"), "")
	give(t, w.dir)
	shut(t, w.dataDir())
	asNobody(w.release)
	if !exists(filepath.Join(w.dir, runningFile)) {
		t.Error("the next run does not find the directory any more")
	}
}

// TestUnreadInheritance has what an earlier run left to tell, and a look at it that fails: this run's own result must not
// take its place.
func TestUnreadInheritance(t *testing.T) {
	dir := publicDir(t)
	if _, err := quietRun().inheritFrom(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a result that cannot be read: %v", err)
	}
	where := filepath.Join(dir, "closed", rescuedPrefix+"x.tfstate")
	put(t, where, "{}")
	if err := os.Chmod(filepath.Dir(where), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(where), 0o700) })
	asNobody(func() {
		r := quietRun()
		if err := r.inheritState(&result.State{Where: where}); !errors.Is(err, fs.ErrPermission) || r.report.State == nil {
			t.Errorf("a state in a folder that cannot be searched: %v, told of: %+v", err, r.report.State)
		}
	})
}

// TestUnreadLockNote has the note of a dead run's lock, and a look at it that fails: nothing may be forgotten.
func TestUnreadLockNote(t *testing.T) {
	r := quietRun()
	r.local, r.work = &local{}, newWorkspace(t.TempDir())
	r.legacy.workdirs = []workspace{newWorkspace(t.TempDir())}
	put(t, r.work.lockNote(), "id-1\n")
	if err := os.Mkdir(r.legacy.workdirs[0].lockNote(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.adoptDeadLock(t.Context()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("error = %v, want that of the unread note", err)
	}
	if !exists(r.work.lockNote()) {
		t.Error("the other note is gone")
	}
}

// TestUnreadErroredState has a state that the runtime left, and that cannot be read: it is told where it is.
func TestUnreadErroredState(t *testing.T) {
	r := quietRun()
	r.work = newWorkspace(t.TempDir())
	where := filepath.Join(r.work.root, erroredState)
	if err := os.MkdirAll(where, 0o700); err != nil {
		t.Fatal(err)
	}
	f := &failure{err: errors.New("exit 1")}
	safe := r.rescue(t.Context(), f, &runtime.Output{})
	if s := r.report.State; safe != nil || s == nil || s.Saved != result.SavedLost || s.Where != where || !errors.Is(f.err, syscall.EISDIR) {
		t.Errorf("state = %+v, safe = %q, error = %v; want it lost in %s", s, safe, f.err, where)
	}
}

// TestUnreadForeignState has states of a module that was applied by hand, and looks at them that fail.
func TestUnreadForeignState(t *testing.T) {
	module := publicDir(t)
	put(t, filepath.Join(module, "terraform.tfstate.d", "prod", localState), "{}")
	shut(t, filepath.Join(module, "terraform.tfstate.d"))
	if _, err := holdsResources(module); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a state that cannot be read: %v", err)
	}
	asNobody(func() {
		if found, err := foreignStates(module); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("workspaces that cannot be listed: %q, %v", found, err)
		}
	})
}

// TestSecretsInOddlyNamedWorkdir has variables in a directory whose name is a pattern: they are hidden all the same.
func TestSecretsInOddlyNamedWorkdir(t *testing.T) {
	r := quietRun()
	r.work.root = filepath.Join(t.TempDir(), "work[1]")
	put(t, filepath.Join(r.work.root, "a.auto.tfvars"), `api_key = "hunter2-hunter2"`)
	if err := r.collectVariables(); err != nil {
		t.Fatal(err)
	}
	if got := r.redact.String("it is hunter2-hunter2"); strings.Contains(got, "hunter2") {
		t.Errorf("the secret is shown: %s", got)
	}
}
