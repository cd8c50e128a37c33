package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mirrorModule makes dir a root module that is a user's own one, for a local run: nothing is ever
// written into the user's directory, and relative paths keep their meaning. Top-level files are
// copied, folders are linked. When the module refers to folders above it (levels), these are mirrored
// as well, so that `../network` is found.
func mirrorModule(module, dir string, levels int) (root string, err error) {
	path := module
	var names []string
	for range levels {
		if parent := filepath.Dir(path); parent != path {
			names = append([]string{filepath.Base(path)}, names...)
			path = parent
		}
	}
	at := dir
	for _, name := range names {
		if err := linkEntries(path, at, name); err != nil {
			return "", err
		}
		at, path = filepath.Join(at, name), filepath.Join(path, name)
	}
	return at, copyModule(path, at)
}

// linkEntries links everything in from except one name, and what belongs to no module.
func linkEntries(from, to, except string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return workdirError(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == except || notPartOfModule(entry.Name()) {
			continue
		}
		if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return workdirError(err)
		}
	}
	return nil
}

// copyModule copies the files of a root module and links its folders.
func copyModule(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return workdirError(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("module: %w", err)
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		info, err := os.Stat(source)
		switch {
		case notPartOfModule(entry.Name()) || os.IsNotExist(err): // a link to nothing
			continue
		case err != nil:
			return fmt.Errorf("module: %w", err)
		case info.Mode().IsRegular():
			err = copyFile(source, target, 0o600|info.Mode().Perm()&0o100)
		default:
			err = os.Symlink(source, target)
		}
		if err != nil {
			return workdirError(err)
		}
	}
	return nil
}

// notPartOfModule names what earlier runs of a runtime, of this runner or of git left beside a module. The
// dependency lock file is part of it.
func notPartOfModule(name string) bool {
	switch name {
	case ".terraform", ".captf", ".git", erroredState:
		return true
	}
	return strings.HasSuffix(name, ".tfstate") || strings.HasSuffix(name, ".tfstate.backup") || strings.HasSuffix(name, ".tfstate.lock.info")
}
