package cli

import (
	"context"
	"io"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// state is one state, on a server or in a directory.
type state interface {
	Status(ctx context.Context) (statesrv.Status, error)
	Lock(ctx context.Context, info statesrv.LockInfo) error
	Unlock(ctx context.Context, info statesrv.LockInfo) (held bool, err error)
	ForceUnlock(ctx context.Context, req statesrv.ForceUnlockRequest) (*statesrv.Lock, error)
	Push(ctx context.Context, req statesrv.WriteRequest) (statesrv.Written, error)
	Pull(ctx context.Context, version int) (io.ReadCloser, error)
	Versions(ctx context.Context, before, limit int) (statesrv.VersionPage, error)
	Events(ctx context.Context, after string, limit int) (statesrv.EventPage, error)
	Restore(ctx context.Context, req statesrv.RestoreRequest) (statesrv.Version, error)
	Close() error
}

// remote is a state on a server.
type remote struct{ *client.State }

func (remote) Close() error { return nil }

// local is a state in a directory.
type local struct {
	states *statesrv.States
	name   string
	by     statesrv.Caller
	store  *dir.Store
}

func (l *local) Status(ctx context.Context) (statesrv.Status, error) {
	return l.states.Status(ctx, l.name)
}

func (l *local) Lock(ctx context.Context, info statesrv.LockInfo) error {
	body, err := info.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = l.states.Lock(ctx, l.name, body, l.by)
	return err
}

func (l *local) Unlock(ctx context.Context, info statesrv.LockInfo) (held bool, err error) {
	body, err := info.MarshalJSON()
	if err != nil {
		return false, err
	}
	return l.states.Unlock(ctx, l.name, statesrv.UnlockRequest{Body: body, By: l.by})
}

func (l *local) ForceUnlock(ctx context.Context, req statesrv.ForceUnlockRequest) (*statesrv.Lock, error) {
	req.By = l.by
	return l.states.ForceUnlock(ctx, l.name, req)
}

func (l *local) Push(ctx context.Context, req statesrv.WriteRequest) (statesrv.Written, error) {
	req.By = l.by
	return l.states.Write(ctx, l.name, req)
}

func (l *local) Pull(ctx context.Context, version int) (io.ReadCloser, error) {
	if version == 0 {
		return l.states.Read(ctx, l.name)
	}
	return l.states.ReadVersion(ctx, l.name, version)
}

func (l *local) Versions(ctx context.Context, before, limit int) (statesrv.VersionPage, error) {
	return l.states.Versions(ctx, l.name, before, limit)
}

func (l *local) Events(ctx context.Context, after string, limit int) (statesrv.EventPage, error) {
	return l.states.Events(ctx, l.name, after, limit)
}

func (l *local) Restore(ctx context.Context, req statesrv.RestoreRequest) (statesrv.Version, error) {
	req.By = l.by
	return l.states.Restore(ctx, l.name, req)
}

// Close waits for the files for people first.
func (l *local) Close() error {
	flush(l.states)
	return l.store.Close()
}

// flushTime is how long the log and the files for people may take at the end. What
// they lack then is added at the next start.
const flushTime = 10 * time.Second

func flush(states *statesrv.States) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	states.Flush(ctx)
}
