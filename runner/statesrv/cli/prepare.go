package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// prepare repairs what a crash has left in the store, proves it, and remembers its
// place.
func (s *server) prepare(ctx context.Context, states *statesrv.States, st store.Store) error {
	findings, err := states.Repair(ctx)
	for _, f := range findings {
		level := slog.LevelInfo
		switch {
		case f.Damage:
			level = slog.LevelError
		case f.Kept:
			level = slog.LevelWarn
		}
		s.log.Log(ctx, level, "start-up check", "state", f.State, "found", f.Text)
	}
	if err != nil {
		return err
	}
	err = store.Prove(ctx, st)
	if errors.Is(err, store.ErrUnproven) {
		return fmt.Errorf("%w; one lock could be granted twice, so nothing is served: take another --store", err)
	}
	if err != nil {
		return err
	}
	return store.Claim(ctx, st)
}

// noRoom reports whether a store cannot be written to although it is sound: its disk is
// full or read-only. Its states can still be read, and somebody may need them now.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// prepareEvery is how often a store that could not be written to is tried again.
const prepareEvery = 2 * time.Second

// untilWritable lets states only be read because of why, which may be nil, until the
// store can be prepared, or stop is called.
func (s *server) untilWritable(ctx context.Context, states *statesrv.States, st store.Store, why error) (stop func()) {
	if why == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	states.SetUnwritable(why)
	s.log.Error("the store cannot be written to: states can only be read, until it can", "error", why)
	go func() {
		defer close(done)
		for why != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(prepareEvery):
			}
			why = s.prepare(ctx, states, st)
			states.SetUnwritable(why)
		}
		s.log.Info("the store can be written to")
	}()
	return func() {
		cancel()
		<-done
	}
}
