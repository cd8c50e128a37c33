package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// isThere tells whether there is anything at the path. An error says that nobody knows: who takes it for absent may
// begin anew what is there, or remove what belongs to it.
func isThere(path string) (bool, error) {
	_, err := os.Stat(path)
	if isAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// isAbsent tells of an error that there is nothing: any other one leaves that open.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// listNamed are the paths in a folder whose names begin and end so, sorted. A folder that is not there has none. It is
// for what filepath.Glob would leave out in silence when the folder cannot be read.
func listNamed(dir, prefix, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			found = append(found, filepath.Join(dir, name))
		}
	}
	return found, nil
}
