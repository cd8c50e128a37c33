package runner

import (
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
	names, err := enter(from, to)
	for _, name := range names {
		if name == except {
			continue
		}
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return workdirError(err)
		}
	}
	return err
}

// copyModule copies the files of a root module and links its folders.
func copyModule(from, to string) error {
	names, err := enter(from, to)
	for _, name := range names {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		info, err := os.Stat(source)
		switch {
		case os.IsNotExist(err): // a link to nothing
		case err != nil:
			return moduleError(err)
		case info.Mode().IsRegular():
			if err := copyFile(source, target, 0o600|info.Mode().Perm()&0o100, moduleError); err != nil {
				return err
			}
		default:
			if err := os.Symlink(source, target); err != nil {
				return workdirError(err)
			}
		}
	}
	return err
}

// enter makes the folder to, and lists what in from belongs to a module.
func enter(from, to string) (names []string, err error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, workdirError(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, moduleError(err)
	}
	for _, entry := range entries {
		if !notPartOfModule(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
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
