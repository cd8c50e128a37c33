package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

const tempPrefix = ".tmp-"

// Create implements store.Store by link(2), which fails if the name is taken: who
// reads the record meanwhile finds none, or all of it.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	err := s.create(ctx, key, func(p *place, name string) error {
		temp := tempPrefix + rand.Text()
		if err := p.fresh(temp, name, 0o600, data); err != nil {
			return err
		}
		defer p.Remove(temp)
		return s.step("link", key, func() error { return p.Link(temp, name) })
	})
	if err != nil {
		return "", err
	}
	return store.RevisionOf(data), nil
}

// Keep implements store.Keeper. Nobody reads the record before its writer has told
// of it, so it is written under its own name, which costs less. It is read-only.
func (s *Store) Keep(ctx context.Context, key string, data []byte) error {
	return s.create(ctx, key, func(p *place, name string) error { return p.fresh(name, name, 0o400, data) })
}

// create lets put make a file that is not there, and makes its name durable.
func (s *Store) create(ctx context.Context, key string, put func(p *place, name string) error) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	p, err := s.make(path.Dir(key))
	if err != nil {
		return fmt.Errorf("create %s: %w", key, typed(err))
	}
	defer p.Close()
	name := path.Base(key)
	if err := put(p, name); err != nil {
		return fmt.Errorf("create %s: %w", key, typed(err))
	}
	if err := p.sync(); err != nil {
		gone := s.step("put back", key, func() error { return p.Remove(name) }) // it must not appear later
		return fmt.Errorf("create %s: %w", key, errors.Join(err, gone))
	}
	return nil
}

// fresh makes a file with data that are durable. Its name is that of a record or a
// temporary one for it.
func (p *place) fresh(file, record string, mode os.FileMode, data []byte) error {
	f, err := p.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	err = p.s.step("write", p.key(record), func() error { _, err := f.Write(data); return err })
	if err == nil {
		err = p.s.step("fsync", p.key(record), f.Sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, p.Remove(file))
	}
	return nil
}

// write makes a file without waiting for the disk.
func (p *place) write(name string, data []byte) error {
	f, err := p.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
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
