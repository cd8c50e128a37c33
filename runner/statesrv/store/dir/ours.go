package dir

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ours refuses a directory that belongs to something else, as a module's root: its files
// would be taken for states. A directory is a store's if it has usersFile, or a state, as a
// copy that left out the files whose names start with a dot; or nothing.
func ours(root *os.Root) error {
	if _, err := root.Lstat(usersFile); err == nil {
		return nil
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	other := ""
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "."), name == "lost+found": // of the file system
		case hasRecord(root, name):
			return nil
		case other == "":
			other = name
		}
	}
	if other != "" {
		return fmt.Errorf("it has %q and no state: this is another directory, or one that holds other things; "+
			"give a directory that is new, empty or of states alone", other)
	}
	return nil
}

// hasRecord reports whether a directory looks like that of a state, or of a proof.
func hasRecord(root *os.Root, dir string) bool {
	for _, file := range []string{"head.json", "versions.json"} {
		if info, err := root.Lstat(path.Join(dir, file)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return dir == "%probe"
}
