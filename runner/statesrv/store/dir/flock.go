package dir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX
)

// flock waits for a lock on f until ctx is done. It polls instead of blocking in
// the kernel, so that a stopped process elsewhere cannot hang this one for ever.
func flock(ctx context.Context, f *os.File, mode int) error {
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		ok, err := tryFlock(f, mode)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: another process holds it: %w", f.Name(), ctx.Err())
		case <-time.After(wait):
		}
	}
}

func tryFlock(f *os.File, mode int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), mode|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// locked runs fn while holding the flock of the directory, which its Close releases.
func (p *place) locked(ctx context.Context, fn func() error) error {
	if err := flock(ctx, p.file, exclusive); err != nil {
		return err
	}
	return fn()
}

// Alone implements store.Sole with the lock that every user of the directory
// holds shared.
func (s *Store) Alone(ctx context.Context, fn func() error) (ran bool, err error) {
	// The kernel drops the shared lock even when it does not grant the other.
	defer func() { err = errors.Join(err, flock(ctx, s.users, shared)) }()
	if ran, err = tryFlock(s.users, exclusive); !ran {
		return false, err
	}
	return true, fn()
}
