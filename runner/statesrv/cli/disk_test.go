package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands of scripts for small disks. The tests run as root.

// disk mounts a file system of two MiB at DIR.
func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: disk DIR")
	}
	path := ts.MkAbs(args[0])
	check(ts, os.MkdirAll(path, 0o700))
	check(ts, syscall.Mount("tmpfs", path, "tmpfs", 0, "size=2m,mode=700"))
	ts.Defer(func() { check(ts, syscall.Unmount(path, syscall.MNT_DETACH)) })
}

// remount makes a disk read-only (ro) or writable (rw).
func remount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: remount DIR ro|rw")
	}
	flags := uintptr(syscall.MS_REMOUNT)
	if args[1] == "ro" {
		flags |= syscall.MS_RDONLY
	}
	check(ts, syscall.Mount("tmpfs", ts.MkAbs(args[0]), "tmpfs", flags, "size=2m"))
}

// fill leaves no room on a disk, by the file filler.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fill DIR")
	}
	f, err := os.Create(filepath.Join(ts.MkAbs(args[0]), "filler"))
	check(ts, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		check(ts, err)
	}
	check(ts, f.Close())
}
