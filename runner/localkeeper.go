package runner

import (
	"context"
	"encoding/json"
	"time"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/statesrv"
)

func (l *local) Holder(ctx context.Context) (*lock.Info, error) {
	held, err := l.states.Holder(ctx, l.name)
	if err != nil || held == nil {
		return nil, err
	}
	record, err := json.Marshal(held.Info)
	if err != nil {
		return nil, err
	}
	info, err := lock.ParseInfo(string(record))
	return &info, err
}

func (l *local) WaitFree(ctx context.Context) (lock.Wait, error) {
	return waitFree(ctx, l, 200*time.Millisecond)
}

// HasState is true: with the http backend an absent state needs no lock to be opened.
func (l *local) HasState(context.Context) (bool, error) { return true, nil }

func (l *local) Release(ctx context.Context, id string) (lock.Unlock, error) {
	return releaseHeld(ctx, l, id, func() error {
		_, err := l.states.ForceUnlock(ctx, l.name, statesrv.ForceUnlockRequest{ID: id, Who: localUser})
		return err
	})
}
