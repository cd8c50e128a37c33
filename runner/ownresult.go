package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// claimResult takes the place where a local run of this module leaves its result by itself, for this run alone. While
// another run has it, this one leaves its result beside it: what a run tells of resources that no state has must not be
// written over.
func (r *run) claimResult() error {
	err := r.lockResult()
	switch {
	case err == nil:
		err = r.inherit()
	case errors.Is(err, errInUse):
		err = r.claimResultBeside()
	}
	if err != nil {
		wayOut := "make the folder " + localDir + " and all in it writable, or name a file with --result"
		if isDiskFull(err) {
			wayOut = "make room on the disk of " + localDir
		}
		return fmt.Errorf("result file %s: %w: %s", r.opts.Result, err, orMoreFiles(err, wayOut))
	}
	return nil
}

func (r *run) claimResultBeside() (err error) {
	if r.opts.Result, err = newBeside(r.opts.Result); err != nil {
		return err
	}
	r.log.Info("another run of this module is going on: this one has a result of its own", "result", r.opts.Result)
	return r.lockResult()
}

func (r *run) lockResult() (err error) {
	r.report.claimed, err = flock(r.opts.Result, errInUse)
	return err
}

const resultExt = ".json"

// resultStem is the path of a local run's own result, to which the names of what it keeps beside that are added.
func resultStem(path string) string { return strings.TrimSuffix(path, resultExt) }

// newBeside makes an empty file beside a result, for one run.
func newBeside(path string) (string, error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(resultStem(path))+besideMark+"*"+resultExt)
	if err != nil {
		return path, err
	}
	return file.Name(), file.Close()
}

// resultsBeside are the results of runs that went on beside another one and have ended. The result of one that lives is
// locked. One that was just made is not locked yet, and empty: it is left alone, or its run would find it locked.
func resultsBeside(path string) ([]string, error) {
	stem := filepath.Base(resultStem(path))
	found, err := listNamed(filepath.Dir(path), stem+besideMark, resultExt)
	if err != nil {
		return nil, err
	}
	var ended []string
	for _, beside := range found {
		if strings.Contains(strings.TrimPrefix(filepath.Base(beside), stem), "-") {
			continue // another document of such a run
		}
		switch over, err := hasEnded(beside); {
		case err != nil:
			return nil, err
		case over:
			ended = append(ended, beside)
		}
	}
	return ended, nil
}

// hasEnded tells whether the run is over that left this result.
func hasEnded(beside string) (bool, error) {
	info, err := os.Stat(beside)
	if isAbsent(err) || err == nil && info.Size() == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lock, err := flock(beside, errInUse)
	if errors.Is(err, errInUse) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, lock.Close()
}

// dropResults removes the results whose news this run's own result has now. Only the last one has all of it: what does
// not fit into one that is partial is kept nowhere else yet.
func (l *legacy) dropResults() {
	for _, path := range l.results {
		_ = os.Remove(path)
		_ = os.Remove(resultStem(path) + "-" + string(resultDocument) + resultExt)
	}
	l.results = nil
}
