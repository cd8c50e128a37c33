package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// workspace is the scratch directory of one run.
type workspace struct {
	dir  string // --workdir
	root string // where every step runs

	running   *os.File // the flock of the runner
	inUse     *os.File // the flock that its children have, too
	temporary bool     // removed at the end, unless it holds a state
}

func newWorkspace(dir string) workspace {
	return workspace{dir: dir, root: filepath.Join(dir, "root")}
}

func (w workspace) dataDir() string   { return filepath.Join(w.dir, ".terraform") }
func (w workspace) cliConfig() string { return filepath.Join(w.dir, "cli.tfrc") }
func (w workspace) plan() string      { return filepath.Join(w.dir, "captf.tfplan") }

// runningFile carries the lock that a runner has alone.
const runningFile = ".running"

// errInUse says that another run works in the same directory.
var errInUse = errors.New("another run is working in it: give each run a --workdir of its own")

// errOrphans says that the runner which worked in the directory is dead, and a process that it started is not.
var errOrphans = errors.New("a process of an earlier run, whose runner was killed, still works in it")

// inUseFile carries the lock that a runner's children have, too.
const inUseFile = ".in-use"

func (w workspace) inUseFile() string { return filepath.Join(w.dir, inUseFile) }

// claim takes the directory for this run alone: the next one starts by emptying it. There are two locks: one that the
// runner has alone, and one that its children inherit, so that it is held until the last of them has ended.
func (w *workspace) claim() (err error) {
	if err = os.MkdirAll(w.dir, 0o700); err != nil {
		return workdirError(err)
	}
	if w.running, err = w.flock(runningFile, errInUse); err != nil {
		return err
	}
	if w.inUse, err = w.flock(inUseFile, errOrphans); err != nil {
		w.release()
	}
	return err
}

func (w *workspace) flock(name string, busy error) (*os.File, error) {
	file, err := flock(filepath.Join(w.dir, name), busy)
	switch {
	case errors.Is(err, busy):
		return nil, fmt.Errorf("workdir %s: %w", w.dir, err)
	case err != nil:
		return nil, workdirError(err)
	}
	return file, nil
}

// flock locks a file, and returns busy when another has it.
func flock(path string, busy error) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = busy
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// besideMark is what the name of a directory beside the wanted one has after that one's name. No state's name has it.
const besideMark = "~"

// claimBeside makes a directory of its own beside the wanted one, for one run.
func (w *workspace) claimBeside() error {
	if err := os.MkdirAll(filepath.Dir(w.dir), 0o700); err != nil {
		return workdirError(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(w.dir), filepath.Base(w.dir)+besideMark)
	if err != nil {
		return workdirError(err)
	}
	*w = newWorkspace(dir)
	w.temporary = true
	return w.claim()
}

// neighbours are the directories that runs made beside the wanted one, dir, and did not remove: they still run, or were
// killed, or could not save their state.
func neighbours(dir string) ([]workspace, error) {
	beside, err := listNamed(filepath.Dir(dir), filepath.Base(dir)+besideMark, "")
	if err != nil {
		return nil, workdirError(err)
	}
	var found []workspace
	for _, path := range beside {
		switch there, err := isThere(filepath.Join(path, runningFile)); {
		case err != nil:
			return nil, workdirError(err)
		case there:
			found = append(found, newWorkspace(path))
		}
	}
	return found, nil
}

// release gives the directory back.
func (w *workspace) release() {
	if w.temporary && w.inUse != nil {
		if unsaved, err := w.unsavedStates(); err == nil && len(unsaved) == 0 {
			w.remove()
		}
	}
	for _, lock := range []*os.File{w.inUse, w.running} {
		_ = lock.Close() // nil is an error
	}
	w.inUse, w.running = nil, nil
}

// remove removes the directory, and last of all what the next run finds it by.
func (w workspace) remove() {
	entries, err := os.ReadDir(w.dir)
	for _, entry := range entries {
		if entry.Name() != runningFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.dir, entry.Name())))
		}
	}
	if err == nil {
		_ = os.RemoveAll(w.dir)
	}
}

// make creates the directories. The root is made anew: nothing of an earlier run may take part in this
// one. A state that an earlier run could not save is kept.
func (w workspace) make(log *slog.Logger) error {
	if err := w.keepErrored(log); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "root")); err != nil {
		return workdirError(err)
	}
	for _, dir := range []string{w.root, filepath.Join(w.dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return workdirError(err)
		}
	}
	return nil
}

// erroredState is what a runtime calls the state that it could not save, in the directory where it runs.
const erroredState = "errored.tfstate"

// unsavedStates finds what runtimes left below the root, wherever in it they ran, and what was kept or
// rescued of it. Links lead into the user's module: they are not followed. What cannot be read may be one: nothing may be
// removed then.
func (w workspace) unsavedStates() ([]string, error) {
	var found []string
	err := filepath.WalkDir(filepath.Join(w.dir, "root"), func(path string, entry fs.DirEntry, err error) error {
		if isAbsent(err) {
			return nil
		}
		if err == nil && entry.Name() == erroredState && entry.Type().IsRegular() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return nil, w.unseenError(err)
	}
	kept, err := w.keptStates()
	return append(found, kept...), err
}

// keptStates are the states of earlier runs that lie in the working directory, oldest first.
func (w workspace) keptStates() ([]string, error) {
	kept, err := listNamed(w.dir, "", keptSuffix)
	if err != nil {
		return nil, w.unseenError(err)
	}
	return slices.DeleteFunc(kept, func(path string) bool { return !isKept(filepath.Base(path)) }), nil
}

// isKept tells by its name a state that was put aside to be pushed by a later run.
func isKept(name string) bool {
	return strings.HasSuffix(name, keptSuffix) && (strings.HasPrefix(name, keptPrefix) || strings.HasPrefix(name, rescuedPrefix))
}

// unseenError is for a folder that cannot be searched for a state that an earlier run could not save.
func (w workspace) unseenError(err error) error {
	return fmt.Errorf("look for a state that an earlier run could not save: %w: %s", err,
		orMoreFiles(err, "make the folder "+w.dir+" and all in it readable, or name another with --workdir"))
}

// The names of states that lie in a working directory.
const (
	keptPrefix    = "errored-" // of a run that died before it could rescue it
	rescuedPrefix = "rescued-" // of a run that found no better place
	keptSuffix    = ".tfstate"
)

// keepErrored moves unsaved states out of the root before that is made anew.
func (w workspace) keepErrored(log *slog.Logger) error {
	unsaved, err := w.unsavedStates()
	if err != nil {
		return err
	}
	for _, path := range unsaved {
		if filepath.Base(path) != erroredState {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return workdirError(err)
		}
		kept := filepath.Join(w.dir, keptPrefix+strconv.FormatInt(info.ModTime().UnixNano(), 10)+keptSuffix)
		if err := os.Rename(path, kept); err != nil {
			return fmt.Errorf("keep the state that an earlier run could not save: %w", err)
		}
		log.Warn("an earlier run could not save its state", "kept", kept)
	}
	return w.notePlaces()
}
