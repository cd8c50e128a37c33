package statesrv

import (
	"context"
	"sync"
	"time"
)

// uploads knows the writes whose bodies are on their way, so that the unlock of a
// client that does both at once comes second.
type uploads struct {
	mu      sync.Mutex
	pending map[upload]*pending
}

type upload struct{ name, lockID string }

type pending struct {
	count int
	done  chan struct{}
}

// patience is how long an unlock waits for uploads under the same lock.
const patience = time.Minute

// begin notes an upload until end is called.
func (u *uploads) begin(up upload) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pending == nil {
		u.pending = map[upload]*pending{}
	}
	p := u.pending[up]
	if p == nil {
		p = &pending{done: make(chan struct{})}
		u.pending[up] = p
	}
	p.count++
	return func() { u.end(up, p) }
}

func (u *uploads) end(up upload, p *pending) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.count--; p.count == 0 {
		delete(u.pending, up)
		close(p.done)
	}
}

// wait returns when no such upload is on its way any more, or after a while.
func (u *uploads) wait(ctx context.Context, up upload) {
	u.mu.Lock()
	p := u.pending[up]
	u.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}
