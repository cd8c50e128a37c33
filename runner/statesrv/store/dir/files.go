package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// Files implements store.Plain under the same flock as Swap.
func (s *Store) Files(ctx context.Context, dir string, fn func(store.Files) error) error {
	if err := store.Check(ctx, dir); err != nil {
		return err
	}
	s.closing.RLock()
	defer s.closing.RUnlock()
	p, err := s.make(dir)
	if err != nil {
		return fmt.Errorf("files of %s: %w", dir, err)
	}
	defer p.Close()
	return p.locked(ctx, func() error { return fn(files{p}) })
}

// files are the plain files of one directory, whose flock is held.
type files struct{ *place }

func (f files) Tail(name string, n int64) ([]byte, error) {
	if err := store.CheckKey(name); err != nil {
		return nil, err
	}
	file, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return tail(file, n)
}

// tail returns at most the last n bytes of a file.
func tail(file *os.File, n int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-n)
	data := make([]byte, info.Size()-from)
	read, err := file.ReadAt(data, from)
	if errors.Is(err, io.EOF) { // a person has cut it meanwhile
		err = nil
	}
	return data[:read], err
}

func (f files) Put(name string, data []byte) error {
	if err := store.CheckKey(name); err != nil {
		return err
	}
	temp := tempPrefix + rand.Text()
	defer f.place.Remove(temp)
	if err := f.write(temp, data); err != nil {
		return err
	}
	return f.place.Rename(temp, name)
}

func (f files) Link(from, name string) error {
	if err := errors.Join(store.CheckKey(from), store.CheckKey(name)); err != nil {
		return err
	}
	temp := tempPrefix + rand.Text()
	if err := f.s.root.Link(f.key(from), f.key(temp)); err != nil {
		return typed(err)
	}
	defer f.place.Remove(temp) // rename leaves it if both are one file already
	return errors.Join(f.place.readOnly(temp), f.place.Rename(temp, name))
}

func (f files) Extend(name, tail string, data []byte) error {
	if err := store.CheckKey(name); err != nil {
		return err
	}
	file, err := f.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(extend(file, tail, data), file.Close())
}

func extend(file *os.File, tail string, data []byte) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	at := info.Size() - int64(len(tail))
	if at < 0 {
		return store.ErrConflict
	}
	end := make([]byte, len(tail))
	if _, err := file.ReadAt(end, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(end) != tail {
		return store.ErrConflict
	}
	if _, err := file.WriteAt(data, at); err != nil { // no half line stays
		_, undo := file.WriteAt(end, at)
		return errors.Join(err, undo, file.Truncate(info.Size()))
	}
	if len(data) < len(tail) {
		return file.Truncate(at + int64(len(data)))
	}
	return nil
}

func (f files) Remove(name string) error {
	if err := store.CheckKey(name); err != nil {
		return err
	}
	if err := f.place.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f files) Rename(from, to string) error {
	if err := errors.Join(store.CheckKey(from), store.CheckKey(to)); err != nil {
		return err
	}
	return f.place.Rename(from, to)
}
