package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

func workdirError(err error) error {
	wayOut := "make it and all in it writable, or name another directory with --workdir"
	if isDiskFull(err) {
		wayOut = "make room on its disk, or name a directory on another one with --workdir"
	}
	if path, ok := err.(*fs.PathError); ok && path.Op == "openfdat" { // os.RemoveAll tells of the system call
		err = &fs.PathError{Op: "open", Path: path.Path, Err: path.Err}
	}
	return fmt.Errorf("workdir: %w: %s", err, orMoreFiles(err, wayOut))
}

func configError(err error) error {
	return fmt.Errorf("config: %w: %s", err, orMoreFiles(err, "name the directory of the rendered root, readable, with --config"))
}

func resultError(err error) error {
	wayOut := "name a file that can be written with --result, in a pod the container's terminationMessagePath"
	if isDiskFull(err) {
		wayOut = "make room on that disk, or name a file on another with --result"
	}
	return fmt.Errorf("%w: %s", err, orMoreFiles(err, wayOut))
}

func moduleError(err error) error {
	return fmt.Errorf("module: %w: %s", err, orMoreFiles(err, "make the module readable, or name another with --module"))
}

// orMoreFiles is the way out of an error, unless the runner itself may open no more files.
func orMoreFiles(err error, wayOut string) string {
	if errors.Is(err, syscall.EMFILE) {
		return "raise the limit of open files (ulimit -n)"
	}
	return wayOut
}

// wayOut is what a person can do about an image that lacks something, or else on a laptop, where there is no image.
func (o Options) wayOut(image, local string) string {
	if o.Local {
		return local
	}
	return image
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
