// Package dir keeps records as plain files below one directory, so that a person
// can read, copy and repair them with ordinary tools. Start with [Open].
//
// A record is durable when its method returns: create is write to a temporary
// file, fsync, link(2), fsync of the directory; keep leaves out the temporary file;
// swap has in place of the link an exchange of names by renameat2(2), or rename(2)
// where there is none, under a flock on the directory. So several processes on one
// machine can use one directory at the same time. It is not for network file
// systems: several machines need a store made for them.
//
// Directories have mode 0700 and files 0600, or 0400 if they are kept. No symlink
// leads out of the directory. Names that start with a dot are the store's own:
// ".tmp-…" is a write under way, ".spare-…" is the file that the next swap writes
// to, and ".statesrv" in the top directory is locked while a process has it open.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Options change how a Store works. The zero value is for use.
type Options struct {
	// MustExist refuses a directory that is not there instead of making it.
	MustExist bool
	// Fault, if set, is called before each step of a write ("mkdir", "write",
	// "fsync", "link", "exchange", "rename", "fsync directory", and "put back" after one
	// that failed) with the key concerned; its error becomes the step's. It exists for
	// tests of failing disks.
	Fault func(step, key string) error
}

// Store is a store.Store, and all of its optional abilities, on a directory.
type Store struct {
	path  string // absolute
	root  *os.Root
	users *os.File // ".statesrv", locked shared while open
	fault func(step, key string) error
	known sync.Map // directories that are durable

	closing sync.RWMutex // held shared while plain files are written
}

// Open opens the directory at path, making it if needed. It waits while another
// process repairs the directory, at most until ctx is done.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	if !opts.MustExist {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := ours(root); err != nil {
		root.Close()
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	users, err := root.OpenFile(usersFile, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, unix.EROFS) {
		if there, errOpen := root.Open(usersFile); errOpen == nil { // what is there can be read
			users, err = there, nil
		}
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s := &Store{path: path, root: root, users: users, fault: opts.Fault}
	if err := flock(ctx, users, shared); err != nil {
		s.Close()
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

// Claim implements store.Placed: Open has done it.
func (s *Store) Claim(context.Context) error { return nil }

// Present implements store.Placed: the directory's path leads to the one that was
// opened.
func (s *Store) Present(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := os.Stat(filepath.Join(s.path, usersFile))
	if err != nil {
		return fmt.Errorf("the store is gone, or cannot be reached: %w", err)
	}
	opened, err := s.users.Stat()
	if err == nil && !os.SameFile(now, opened) {
		err = fmt.Errorf("%s is another directory than the one that was opened: start the server again", s.path)
	}
	return err
}

// usersFile is locked by each process that has the store open.
const usersFile = ".statesrv"

// Close releases the directory, after the plain files that are being written.
func (s *Store) Close() error {
	s.closing.Lock()
	defer s.closing.Unlock()
	return errors.Join(s.users.Close(), s.root.Close())
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	if err := store.Check(ctx, key); err != nil {
		return store.Record{}, err
	}
	data, err := s.readCurrent(ctx, key)
	if err != nil {
		return store.Record{}, fmt.Errorf("get %s: %w", key, typed(err))
	}
	return store.Record{Data: data, Revision: store.RevisionOf(data)}, nil
}

// Open implements store.Opener.
func (s *Store) Open(ctx context.Context, key string) (store.Body, error) {
	if err := store.Check(ctx, key); err != nil {
		return store.Body{}, err
	}
	f, err := s.root.Open(key)
	if err != nil {
		return store.Body{}, fmt.Errorf("open %s: %w", key, typed(err))
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return store.Body{}, fmt.Errorf("open %s: %w", key, err)
	}
	return store.Body{ReadCloser: f, Size: info.Size()}, nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := s.entries(ctx, dir)
		if err != nil {
			yield("", fmt.Errorf("list %q: %w", dir, err))
			return
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") && !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// entries returns what is in dir, sorted by name; nothing if it is absent.
func (s *Store) entries(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	if dir == "" {
		dir = "."
	} else if err := store.CheckKey(dir); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Remove implements store.Store: the record goes, and then its spare.
func (s *Store) Remove(ctx context.Context, key string) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	for _, file := range []string{key, path.Join(path.Dir(key), sparePrefix+path.Base(key))} {
		if err := s.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", key, err)
		}
	}
	return nil
}

// Sweep implements store.Sole: it removes temporary files, and spares without a record.
func (s *Store) Sweep(ctx context.Context, dir string) ([]string, error) {
	entries, err := s.entries(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("sweep %q: %w", dir, err)
	}
	var removed []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && store.CheckKey(name) == nil:
			below, err := s.Sweep(ctx, name)
			removed = append(removed, below...)
			if err != nil {
				return removed, err
			}
		case strings.HasPrefix(e.Name(), tempPrefix), s.lonely(dir, e.Name()):
			if err := s.root.Remove(name); err != nil {
				return removed, fmt.Errorf("sweep: %w", err)
			}
			removed = append(removed, name)
		}
	}
	return removed, nil
}

// lonely reports whether a file is the spare of a record that is not there.
func (s *Store) lonely(dir, name string) bool {
	record, ok := strings.CutPrefix(name, sparePrefix)
	if !ok {
		return false
	}
	_, err := s.root.Lstat(path.Join(dir, record))
	return errors.Is(err, fs.ErrNotExist)
}

// typed adds the store's error to that of the operating system.
func typed(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return store.ErrNotFound
	case errors.Is(err, fs.ErrExist):
		return store.ErrExists
	}
	return err
}
