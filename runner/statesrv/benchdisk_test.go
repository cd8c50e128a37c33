package statesrv_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// slowness is what each fsync takes longer than the machine's disk needs.
type slowness time.Duration

func (s slowness) wait() { time.Sleep(time.Duration(s)) }

func (s slowness) sync(f *os.File) error {
	s.wait()
	return f.Sync()
}

// onDisk writes the two records of a write, each durably: the state's bytes, which
// are new, and the head, which is replaced.
func (s slowness) onDisk(path string, create, replace func(name string, data []byte) error) func(client, n int) error {
	body, head, names := stateOf(benchBytes), make([]byte, 8<<10), rand.Text()
	return func(client, n int) error {
		state := filepath.Join(path, fmt.Sprint(names, client))
		if n == 0 {
			if err := os.MkdirAll(filepath.Join(state, "versions"), 0o700); err != nil {
				return err
			}
		}
		return errors.Join(create(filepath.Join(state, "versions", fmt.Sprint(n)), body),
			replace(filepath.Join(state, "head"), head))
	}
}

func (s slowness) createNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, s.sync(f), f.Close()); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(name))
}

func (s slowness) replaceByRename(name string, data []byte) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, s.sync(f), f.Close(), os.Rename(name+".tmp", name)); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(name))
}

func (s slowness) syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(s.sync(d), d.Close())
}

func (s slowness) replaceByExchange(name string, data []byte) error {
	f, err := os.OpenFile(name+".spare", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return errors.Join(os.WriteFile(name+".spare", data, 0o600), s.replaceByRename(name, data))
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err := errors.Join(err, s.sync(f), f.Close()); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+".spare", unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(name))
}

// spread returns a directory whose subdirectories ext4 puts far from each other, by
// their names, as those at its top. A file is put near its directory, and without a
// journal ext4 looks at each file that anybody removed there in the last minutes: what
// one writer, or the run before, has removed would else cost the others, so each has
// names of its own. Other file systems have no such flag.
func spread(b *testing.B) string {
	path := b.TempDir()
	d, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	const topDir = 0x00020000 // FS_TOPDIR_FL in linux/fs.h
	flags, err := unix.IoctlGetInt(int(d.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		_ = unix.IoctlSetPointerInt(int(d.Fd()), unix.FS_IOC_SETFLAGS, flags|topDir)
	}
	return path
}
