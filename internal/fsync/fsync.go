// Package fsync makes changes to directories durable.
package fsync

import (
	"errors"
	"os"
)

// Dir writes a directory's entries to disk: a file that was made or renamed in it survives a power failure only
// after that.
func Dir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
