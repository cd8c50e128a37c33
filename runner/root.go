package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf/captf-runner/runner/root"
)

// copyConfig puts every regular top-level file of the rendered configuration into the root. Names
// that start with a dot and directories are how a mounted Secret keeps its versions. A state that a run by hand could not
// save, and left there, is none of this run's: when a step fails, it would be pushed over the true one.
func (w workspace) copyConfig(from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return configError(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || entry.Name() == erroredState {
			continue
		}
		source := filepath.Join(from, entry.Name())
		info, err := os.Stat(source) // follows the links of a mounted Secret
		if err != nil {
			return configError(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if err := copyFile(source, filepath.Join(w.root, entry.Name()), 0o600, configError); err != nil {
			return err
		}
	}
	return w.checkRoot(from)
}

// checkRoot refuses a root without configuration: with nothing but variables in it, or the declaration of
// a backend, a runtime would destroy everything that the state holds.
func (w workspace) checkRoot(from string) error {
	found, err := root.HasConfig(w.root)
	if err != nil {
		return workdirError(err)
	}
	if !found {
		return fmt.Errorf("config %s holds no .tf, .tf.json, .tofu or .tofu.json file at its top level: name the directory of the rendered root with --config", from)
	}
	return nil
}

// copyFile copies a file into the working directory. An error about the source is made by sourceError.
func copyFile(from, to string, mode os.FileMode, sourceError func(error) error) error {
	in, err := os.Open(from)
	if err != nil {
		return sourceError(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return workdirError(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return workdirError(err)
	}
	return nil
}
