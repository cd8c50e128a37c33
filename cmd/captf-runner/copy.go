package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf/captf-runner/internal/fsync"
	"github.com/captf/captf-runner/runner/result"
)

// copySelf is an init container's job: it puts this executable where another image's container finds it.
func copySelf(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && isHelp(args[0]):
		fmt.Fprint(stdout, usage)
		return result.ExitDone
	case len(args) != 1 || args[0] == "" || strings.HasPrefix(args[0], "-"):
		fmt.Fprintln(stderr, "captf-runner copy: give one destination: captf-runner copy DEST")
		return result.ExitUsage
	}
	self, err := os.Executable()
	if err == nil {
		err = installFile(self, args[0])
	}
	if err != nil {
		fmt.Fprintf(stderr, "captf-runner copy: to %s: %v; name a file in a folder that exists and can be written\n", args[0], err)
		return result.ExitFailed
	}
	return result.ExitDone
}

// installFile copies an executable so that DEST is, at any moment, the old file or the whole new one. A
// folder as DEST gets a file of the same name.
func installFile(from, dest string) (err error) {
	if info, err := os.Stat(dest); err == nil && info.IsDir() {
		dest = filepath.Join(dest, filepath.Base(from))
	}
	if info, err := os.Stat(dest); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no regular file") // the rename would put the copy in the place of a device
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(dest), ".captf-runner-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	_, err = io.Copy(out, in)
	// CreateTemp's mode is 0600, and the umask must not decide about this one.
	if err = errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close()); err != nil {
		return err
	}
	if err = os.Rename(out.Name(), dest); err != nil {
		return err
	}
	return fsync.Dir(filepath.Dir(dest))
}
