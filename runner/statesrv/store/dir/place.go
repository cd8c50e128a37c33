package dir

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// place is one directory, open for the length of one operation: else each of its
// steps would look up the path again. It is not kept longer, for a person may
// replace a directory at any time.
type place struct {
	s    *Store
	dir  string
	file *os.File
}

// at opens a directory that exists.
func (s *Store) at(dir string) (*place, error) {
	file, err := s.root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &place{s, dir, file}, nil
}

// Close closes the directory, and unlocks it.
func (p *place) Close() error { return p.file.Close() }

// make opens a directory, which it makes if needed: again, if somebody has removed it or one
// of its parents since.
func (s *Store) make(dir string) (*place, error) {
	p, err := s.makeOnce(dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.forget(dir)
		return s.makeOnce(dir)
	}
	return p, err
}

func (s *Store) makeOnce(dir string) (*place, error) {
	if err := s.makeDir(dir); err != nil {
		return nil, err
	}
	return s.at(dir)
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
	p, err := s.at(parent)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.sync(); err != nil {
		return err
	}
	s.known.Store(dir, nil)
	return nil
}

func (s *Store) forget(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		s.known.Delete(dir)
	}
}

// sync makes the names in the directory durable.
func (p *place) sync() error { return p.s.step("fsync directory", p.dir, p.file.Sync) }

func (p *place) key(name string) string { return path.Join(p.dir, name) }
