package stores

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

const loadClients = 32

var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadClients}}

// load is many clients at work on a few states through several servers.
type load struct {
	t       *testing.T
	servers []string
	left    atomic.Int64 // requests that are still to be sent
	// locked states are written under a lock only; open ones without any.
	locked, open []*state
	counts       counts
}

// counts are how often a request was answered so.
type counts struct {
	granted, held, released atomic.Int64
	written, tooLate, read  atomic.Int64
}

func (c *counts) String() string {
	return fmt.Sprintf("locks: %d granted, %d refused, %d released; writes: %d accepted, %d refused; %d reads",
		c.granted.Load(), c.held.Load(), c.released.Load(), c.written.Load(), c.tooLate.Load(), c.read.Load())
}

// state is what the clients know of a state.
type state struct {
	name     string
	holder   atomic.Pointer[string]
	mu       sync.Mutex
	bySerial map[uint64]statesrv.Version // acknowledged writes
	bodies   map[int][]byte              // by version
	newest   uint64                      // serial
}

func newLoad(t *testing.T, servers []string, requests int) *load {
	l := &load{t: t, servers: servers}
	l.left.Store(int64(requests))
	for i := range 8 {
		l.locked = append(l.locked, newState(fmt.Sprintf("locked/%d", i)))
		l.open = append(l.open, newState(fmt.Sprintf("open.%d", i)))
	}
	return l
}

func newState(name string) *state {
	return &state{name: name, bySerial: map[uint64]statesrv.Version{}, bodies: map[int][]byte{}}
}

// run returns when all requests have been sent.
func (l *load) run(ctx context.Context) {
	var group sync.WaitGroup
	for range loadClients {
		group.Go(func() {
			for l.left.Load() > 0 && !l.t.Failed() {
				switch mathrand.IntN(4) {
				case 0:
					l.write(ctx, pick(l.open), "")
				case 1:
					l.readBack(ctx, pick(slices.Concat(l.open, l.locked)))
				default:
					l.apply(ctx, pick(l.locked))
				}
			}
		})
	}
	group.Wait()
}

func pick[T any](from []T) T { return from[mathrand.IntN(len(from))] }

// at counts a request and returns a client on any of the servers.
func (l *load) at(s *state) *client.State {
	l.left.Add(-1)
	return at(l.t, pick(l.servers), s.name)
}

// refused reports whether the server refused a request; another error is a fault
// of the test.
func (l *load) refused(err error) bool {
	if err != nil && !errors.As(err, new(*statesrv.Refusal)) {
		l.t.Error(err)
	}
	return err != nil
}

// apply is lock, write, unlock, each on any server.
func (l *load) apply(ctx context.Context, s *state) {
	id := rand.Text()
	lock := statesrv.LockInfo{ID: id, Who: "load"}
	if l.refused(l.at(s).Lock(ctx, lock)) {
		l.counts.held.Add(1)
		return
	}
	l.counts.granted.Add(1)
	if before := s.holder.Swap(&id); before != nil {
		l.t.Errorf("%s: the lock was granted twice, to %s and %s", s.name, *before, id)
	}
	if !l.write(ctx, s, id) {
		l.t.Errorf("%s: a write under the lock was refused", s.name)
	}
	s.holder.Store(nil) // before, since the next holder may be faster than the answer
	if _, err := l.at(s).Unlock(ctx, lock); l.refused(err) {
		l.t.Errorf("%s: the unlock was refused", s.name)
	}
	l.counts.released.Add(1)
}

// write stores the next serial, and reports whether the server took it.
func (l *load) write(ctx context.Context, s *state, lockID string) bool {
	now, err := l.at(s).Status(ctx)
	if l.refused(err) {
		return false
	}
	serial := uint64(1)
	if now.Current != nil {
		serial = now.Current.Serial + 1
	}
	body := fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"l","outputs":{"of":{"value":%q,"type":"string"}}}`, serial, rand.Text())
	w, err := l.at(s).Push(ctx, statesrv.WriteRequest{Body: body, ID: lockID})
	if l.refused(err) {
		l.counts.tooLate.Add(1)
		return false
	}
	l.counts.written.Add(1)
	s.acknowledged(l.t, w.Version, body)
	return true
}

func (s *state) acknowledged(t *testing.T, v statesrv.Version, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.bySerial[v.Serial]; ok {
		t.Errorf("%s: serial %d was written twice, as versions %d and %d", s.name, v.Serial, before.Number, v.Number)
	}
	if _, ok := s.bodies[v.Number]; ok {
		t.Errorf("%s: version %d was given twice", s.name, v.Number)
	}
	s.bySerial[v.Serial], s.bodies[v.Number] = v, body
	s.newest = max(s.newest, v.Serial)
}

// readBack reads the state from any server: nothing that was acknowledged before
// may be missing.
func (l *load) readBack(ctx context.Context, s *state) {
	s.mu.Lock()
	floor := s.newest
	s.mu.Unlock()
	body, err := pull(l.at(s).Pull(ctx, 0))
	if err != nil && floor == 0 {
		return
	}
	var doc struct{ Serial uint64 }
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(body)).Decode(&doc)
	}
	if err != nil || doc.Serial < floor {
		l.t.Errorf("%s: read serial %d, %v, after serial %d was acknowledged", s.name, doc.Serial, err, floor)
	}
	l.counts.read.Add(1)
}

func pull(r io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
