package dir

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

const tempPrefix = ".tmp-"

// Create implements store.Store by link(2), which fails if the name is taken.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if err := check(ctx, key); err != nil {
		return "", err
	}
	if err := s.create(key, data); err != nil {
		return "", fmt.Errorf("create %s: %w", key, typed(err))
	}
	return revision(data), nil
}

func (s *Store) create(key string, data []byte) error {
	temp, err := s.temp(key, data)
	if err != nil {
		return err
	}
	defer s.root.Remove(temp)
	if err := s.step("link", key, func() error { return s.root.Link(temp, key) }); err != nil {
		return err
	}
	if err := s.syncDir(path.Dir(key)); err != nil {
		return errors.Join(err, s.root.Remove(key)) // it must not appear later
	}
	return nil
}

// Swap implements store.Store by rename(2) while it holds the directory's flock.
func (s *Store) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if err := check(ctx, key); err != nil {
		return "", err
	}
	if _, err := s.root.Lstat(key); err != nil {
		return "", fmt.Errorf("swap %s: %w", key, typed(err))
	}
	temp, err := s.temp(key, data) // slow, so before the lock
	if err != nil {
		return "", fmt.Errorf("swap %s: %w", key, err)
	}
	defer s.root.Remove(temp)
	err = s.locked(ctx, path.Dir(key), func() error { return s.swap(key, temp, old) })
	if err != nil {
		return "", fmt.Errorf("swap %s: %w", key, typed(err))
	}
	return revision(data), nil
}

func (s *Store) swap(key, temp string, old store.Revision) error {
	now, err := s.root.ReadFile(key)
	if err != nil {
		return err
	}
	if revision(now) != old {
		return store.ErrConflict
	}
	if err := s.step("rename", key, func() error { return s.root.Rename(temp, key) }); err != nil {
		return err
	}
	if err := s.syncDir(path.Dir(key)); err != nil {
		return errors.Join(err, s.putBack(key, now))
	}
	return nil
}

// putBack restores a record whose replacement could not be made durable, so that
// nobody builds on a value that a power failure would take back.
func (s *Store) putBack(key string, data []byte) error {
	temp := tempName(key)
	if err := s.write(temp, bytes.NewReader(data)); err != nil {
		return err
	}
	return s.root.Rename(temp, key)
}

// temp writes data durably to a temporary file beside key.
func (s *Store) temp(key string, data []byte) (string, error) {
	dir, temp := path.Dir(key), tempName(key)
	if err := s.makeDir(dir); err != nil {
		return "", err
	}
	err := s.writeSynced(key, temp, data)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the directory
		s.known.Delete(dir)
		if err = s.makeDir(dir); err == nil {
			err = s.writeSynced(key, temp, data)
		}
	}
	if err != nil {
		s.root.Remove(temp)
		return "", err
	}
	return temp, nil
}

func (s *Store) writeSynced(key, temp string, data []byte) error {
	f, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = s.step("write", key, func() error { _, err := f.Write(data); return err })
	if err == nil {
		err = s.step("fsync", key, f.Sync)
	}
	return errors.Join(err, f.Close())
}

// write makes a file without waiting for the disk.
func (s *Store) write(name string, data io.Reader) error {
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
	return errors.Join(err, f.Close())
}

// makeDir makes dir and its parents durably, once for each process: a directory
// that is there may have been made by a process that died before its fsync.
func (s *Store) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	if _, ok := s.known.Load(dir); ok {
		return nil
	}
	parent := path.Dir(dir)
	if err := s.makeDir(parent); err != nil {
		return err
	}
	err := s.step("mkdir", dir, func() error { return s.root.Mkdir(dir, 0o700) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := s.syncDir(parent); err != nil {
		return err
	}
	s.known.Store(dir, nil)
	return nil
}

func (s *Store) syncDir(dir string) error {
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.step("fsync directory", dir, f.Sync), f.Close())
}

// step does one step of a write, unless a test lets it fail.
func (s *Store) step(name, key string, do func() error) error {
	if s.fault != nil {
		if err := s.fault(name, key); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return do()
}

func tempName(key string) string {
	return path.Join(path.Dir(key), tempPrefix+rand.Text())
}
