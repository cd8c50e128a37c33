package dir

import (
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

// A record that is swapped has a second file, its spare: the value before. A swap
// writes the new value there and lets the two change names in one step. So no file
// is made and none is freed, which costs a file system more than the bytes do: ext4
// without a journal looks at each inode that was freed in the last minutes before it
// gives out another.
//
// A reader that is slow might find its file turned into the spare and written to.
// It holds the file's own flock while it reads, and whoever swaps takes no spare
// that is being read.
const sparePrefix = ".spare-"

// Reserve implements store.Reserver: it makes the spare, which has the size of data. One that is there is left alone. It
// gets its name when it is written, for from then on it may be another swap's.
func (s *Store) Reserve(ctx context.Context, key string, data []byte) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	p, err := s.make(path.Dir(key))
	if err != nil {
		return fmt.Errorf("reserve %s: %w", key, err)
	}
	defer p.Close()
	temp := tempPrefix + rand.Text()
	defer p.Remove(temp)
	if err := p.fresh(temp, path.Base(key), 0o600, data); err != nil {
		return fmt.Errorf("reserve %s: %w", key, err)
	}
	if err := p.Link(temp, sparePrefix+path.Base(key)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("reserve %s: %w", key, err)
	}
	return nil
}

// Swap implements store.Store by a rename while it holds the directory's flock.
func (s *Store) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	if err := s.swap(ctx, key, old, data); err != nil {
		return "", fmt.Errorf("swap %s: %w", key, typed(err))
	}
	return store.RevisionOf(data), nil
}

func (s *Store) swap(ctx context.Context, key string, old store.Revision, data []byte) error {
	p, err := s.at(path.Dir(key))
	if err != nil {
		return err
	}
	defer p.Close()
	return p.locked(ctx, func() error { return p.swap(path.Base(key), old, data) })
}

func (p *place) swap(name string, old store.Revision, data []byte) error {
	now, err := p.ReadFile(name) // nobody writes to it while the flock is held
	if err != nil {
		return err
	}
	if store.RevisionOf(now) != old {
		return store.ErrConflict
	}
	done, err := p.swapSpare(name, data)
	if done || err != nil {
		return err
	}
	return p.swapNew(name, now, data)
}

// swapSpare swaps by way of the spare. It reports false if there is none that can
// be used, and nothing was done.
func (p *place) swapSpare(name string, data []byte) (done bool, err error) {
	spare := sparePrefix + name
	f, err := p.OpenFile(spare, os.O_RDWR, 0)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	if free, err := tryFlock(f, exclusive); !free || err != nil {
		return false, nil
	}
	if err := p.fill(f, name, data); err != nil {
		return true, err
	}
	exchange := func() error { return p.exchange(spare, name) }
	err = p.s.step("exchange", p.key(name), exchange)
	if errors.Is(err, errNoExchange) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if err := p.sync(); err != nil {
		// Nobody may build on a value that a power failure would take back.
		return true, errors.Join(err, p.s.step("put back", p.key(name), exchange))
	}
	return true, nil
}

// fill overwrites f durably.
func (p *place) fill(f *os.File, name string, data []byte) error {
	err := p.s.step("write", p.key(name), func() error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(data, 0); err != nil || info.Size() <= int64(len(data)) {
			return err
		}
		return f.Truncate(int64(len(data)))
	})
	if err != nil {
		return err
	}
	return p.s.step("fsync", p.key(name), f.Sync)
}

// swapNew swaps by way of a new file, and keeps the old one as the spare.
func (p *place) swapNew(name string, now, data []byte) error {
	temp := tempPrefix + rand.Text()
	if err := p.fresh(temp, name, 0o600, data); err != nil {
		return err
	}
	defer p.Remove(temp)
	exchange := func() error { return p.exchange(temp, name) }
	putBack := exchange
	err := p.s.step("exchange", p.key(name), exchange)
	if errors.Is(err, errNoExchange) {
		putBack = func() error { return p.putBack(name, now) }
		err = p.s.step("rename", p.key(name), func() error { return p.Rename(temp, name) })
	}
	if err != nil {
		return err
	}
	if err := p.sync(); err != nil {
		return errors.Join(err, p.s.step("put back", p.key(name), putBack))
	}
	// Without an exchange there is no temp any more, and the next swap makes a new one.
	_ = p.Rename(temp, sparePrefix+name)
	return nil
}

// putBack restores a record whose replacement could not be made durable, by bytes that
// are: else a power failure could leave an empty file in its place.
func (p *place) putBack(name string, data []byte) error {
	temp := tempPrefix + rand.Text()
	if err := p.fresh(temp, name, 0o600, data); err != nil {
		return err
	}
	return p.Rename(temp, name)
}

// readCurrent reads a record that may be swapped meanwhile.
func (s *Store) readCurrent(ctx context.Context, key string) ([]byte, error) {
	for ctx.Err() == nil {
		data, current, err := s.readOnce(ctx, key)
		if current || err != nil {
			return data, err
		}
	}
	return nil, ctx.Err()
}

// readOnce reports false if the file became the spare before it was locked.
func (s *Store) readOnce(ctx context.Context, key string) (data []byte, current bool, err error) {
	p, err := s.at(path.Dir(key))
	if err != nil {
		return nil, false, err
	}
	defer p.Close()
	f, err := p.Open(path.Base(key))
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // which unlocks it
	// The wait ends when the swap to this value is durable.
	if err := flock(ctx, f, shared); err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if current, err = p.has(path.Base(key), info); err != nil || !current {
		return nil, false, err
	}
	data = make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, true, err
}

// errNoExchange is returned where the system cannot let two files change names.
var errNoExchange = errors.New("this file system has no exchange of names")
