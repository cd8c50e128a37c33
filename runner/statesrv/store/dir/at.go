package dir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names in a place are single segments, and no symbolic link is followed. os.Root
// would see to that, too, but at the cost of five more system calls for each file, and of
// a second descriptor beside that of the directory that is locked and synced.

func (p *place) fd() int { return int(p.file.Fd()) }

// OpenFile is os.OpenFile in the place.
func (p *place) OpenFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	var fd int
	err := p.do("openat", name, func() (err error) {
		fd, err = unix.Openat(p.fd(), name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p.s.path+"/"+p.key(name)), nil
}

// Open is os.Open in the place.
func (p *place) Open(name string) (*os.File, error) { return p.OpenFile(name, os.O_RDONLY, 0) }

// ReadFile reads a file that nobody writes to.
func (p *place) ReadFile(name string) ([]byte, error) {
	f, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// Rename is os.Rename in the place.
func (p *place) Rename(from, to string) error {
	return p.do("renameat", from, func() error { return unix.Renameat(p.fd(), from, p.fd(), to) })
}

// Link is os.Link in the place.
func (p *place) Link(from, to string) error {
	return p.do("linkat", from, func() error { return unix.Linkat(p.fd(), from, p.fd(), to, 0) })
}

// Remove removes a file in the place.
func (p *place) Remove(name string) error {
	return p.do("unlinkat", name, func() error { return unix.Unlinkat(p.fd(), name, 0) })
}

// readOnly takes from a file the right to be written to.
func (p *place) readOnly(name string) error {
	return p.do("fchmodat", name, func() error {
		var now unix.Stat_t
		err := unix.Fstatat(p.fd(), name, &now, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil || now.Mode&0o777 == 0o400 {
			return err
		}
		return unix.Fchmodat(p.fd(), name, 0o400, 0)
	})
}

// has reports whether what has the name is still the file that info is of.
func (p *place) has(name string, info fs.FileInfo) (bool, error) {
	var now unix.Stat_t
	err := p.do("fstatat", name, func() error { return unix.Fstatat(p.fd(), name, &now, unix.AT_SYMLINK_NOFOLLOW) })
	opened, ok := info.Sys().(*syscall.Stat_t)
	return ok && now.Dev == opened.Dev && now.Ino == opened.Ino, err
}

// do calls a system call until no signal interrupts it.
func (p *place) do(op, name string, call func() error) error {
	for {
		switch err := call(); {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR):
			return &fs.PathError{Op: op, Path: p.key(name), Err: err}
		}
	}
}
