package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/statesrv"
)

// checkWritable finds out before anything runs that no state could be saved.
func (l *local) checkWritable() error {
	folders := []string{filepath.Join(l.dir, statesDir), filepath.Dir(l.statePath())}
	for _, folder := range folders {
		file, err := os.CreateTemp(folder, ".tmp-*") // the store removes what such a file is left of
		if folder == folders[1] && errors.Is(err, os.ErrNotExist) {
			return nil // it is made with the first version of the state
		}
		if err != nil {
			return l.stateError(err)
		}
		if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
			return l.stateError(err)
		}
	}
	return nil
}

// stateError is for what is wrong with the folder of the states.
func (l *local) stateError(err error) error {
	return fmt.Errorf("local state: %w: %s", err, l.wayOut(err))
}

// wayOut is what a person has to do about the folder of the states.
func (l *local) wayOut(err error) string {
	if isDiskFull(err) {
		return "make room on the disk of " + l.dir
	}
	if errors.Is(err, statesrv.ErrDamaged) {
		return "a run in another folder would begin with an empty state"
	}
	return orMoreFiles(err, "make the folder "+l.dir+" and all in it writable")
}

// noteFault keeps the last fault of the state's disk: the runtime only says that its server answered badly.
func (l *local) noteFault(err error) { l.fault.Store(&err) }

// forgetFault is for a step that begins.
func (l *local) forgetFault() {
	if l != nil {
		l.fault.Store(nil)
	}
}

// diskFault is what went wrong on the state's disk since the step began; nil is nothing.
func (l *local) diskFault() error {
	if l == nil {
		return nil
	}
	if err := l.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// stateFault is the same as an error that tells what to do.
func (l *local) stateFault() error {
	if fault := l.diskFault(); fault != nil {
		return l.stateError(fault)
	}
	return nil
}

// blame makes the fault of the local state's disk the error of a step that failed for it.
func (l *local) blame(f *failure) {
	fault := l.diskFault()
	if fault == nil || f.reason != result.ReasonBackend && f.reason != result.ReasonStateWrite {
		return
	}
	f.reason = result.ReasonConfig
	if isDiskFull(fault) {
		f.reason = result.ReasonDisk
	}
	f.err = l.stateError(fault)
	f.tail = f.err.Error() + "\n" + f.tail
}
