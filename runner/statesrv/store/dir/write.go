package dir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

const tempPrefix = ".tmp-"

// Create implements store.Store by link(2), which fails if the name is taken.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if err := s.Keep(ctx, key, data); err != nil {
		return "", err
	}
	return revision(data), nil
}

// Keep implements store.Keeper: the digest of a large value is not needed.
func (s *Store) Keep(ctx context.Context, key string, data []byte) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	if err := s.create(key, data); err != nil {
		return fmt.Errorf("create %s: %w", key, typed(err))
	}
	return nil
}

func (s *Store) create(key string, data []byte) error {
	p, err := s.make(path.Dir(key))
	if err != nil {
		return err
	}
	defer p.Close()
	name := path.Base(key)
	temp, err := p.temp(name, data)
	if err != nil {
		return err
	}
	defer p.Remove(temp)
	if err := s.step("link", key, func() error { return p.Link(temp, name) }); err != nil {
		return err
	}
	if err := p.sync(); err != nil {
		return errors.Join(err, p.Remove(name)) // it must not appear later
	}
	return nil
}

// temp writes data durably to a temporary file, which is to become name.
func (p place) temp(name string, data []byte) (string, error) {
	temp := tempPrefix + rand.Text()
	f, err := p.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	err = p.s.step("write", p.key(name), func() error { _, err := f.Write(data); return err })
	if err == nil {
		err = p.s.step("fsync", p.key(name), f.Sync)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		p.Remove(temp)
		return "", err
	}
	return temp, nil
}

// write makes a file without waiting for the disk.
func (p place) write(name string, data io.Reader) error {
	f, err := p.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, data)
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
