package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
)

// slow is a hash that counts how often it is calculated, and waits until it may end.
type slow struct {
	right   string
	count   *atomic.Int64
	running *atomic.Int64
	most    *atomic.Int64
	release chan struct{}
}

func newSlow(right string) slow {
	s := slow{right, &atomic.Int64{}, &atomic.Int64{}, &atomic.Int64{}, make(chan struct{})}
	return s
}

func (s slow) matches(password []byte) bool {
	s.count.Add(1)
	now := s.running.Add(1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	<-s.release
	s.running.Add(-1)
	return string(password) == s.right
}

func withHash(t *testing.T, h hash) *Users {
	t.Helper()
	u := usersOf(t, "ann:-", "cert:-")
	u.byName["ann"].hash = h
	u.hashes = []hash{h}
	return u
}

// A user who does not exist, or has no password, costs what a wrong password costs.
func TestUnknownUsersCostTheSame(t *testing.T) {
	h := newSlow("right")
	close(h.release)
	a := New(Options{Users: fixed(withHash(t, h))})
	for i, name := range []string{"ann", "nobody", "cert", ""} {
		_, err := a.Authenticate(basic(name, "wrong"))
		if !errors.Is(err, statesrv.ErrBadCredentials) || err.Error() != statesrv.ErrBadCredentials.Error() {
			t.Errorf("%q: %v, want the same error for all", name, err)
		}
		if got := h.count.Load(); got != int64(i+1) {
			t.Errorf("%q: %d hashes were calculated, want %d", name, got, i+1)
		}
	}
}

// Each user's hash of a file is a decoy; a password that is too long costs none.
func TestHashesOfAFile(t *testing.T) {
	if u := usersOf(t, "ann:"+bcryptOf(t, "one"), "cert:-", "bob:"+bcryptOf(t, "two")); len(u.hashes) != 2 || u.decoy("nobody") == nil {
		t.Errorf("%d hashes, decoy %v, want those of two users", len(u.hashes), u.decoy("nobody"))
	}
	h := newSlow("right")
	close(h.release)
	a := New(Options{Users: fixed(withHash(t, h))})
	_, err := a.Authenticate(basic("ann", strings.Repeat("x", maxPassword+1)))
	if !errors.Is(err, statesrv.ErrBadCredentials) || h.count.Load() != 0 {
		t.Errorf("got %v after %d hashes", err, h.count.Load())
	}
}

// Whoever was checked has left the queue.
func TestTheQueueIsLeft(t *testing.T) {
	h := newSlow("right")
	close(h.release)
	a := New(Options{Users: fixed(withHash(t, h))})
	for range hashWaiters + hashSlots + 1 {
		if _, err := a.Authenticate(basic("ann", "wrong")); !errors.Is(err, statesrv.ErrBadCredentials) {
			t.Fatalf("got %v after %d hashes", err, h.count.Load())
		}
	}
}

// A name has always the same decoy, and every user is somebody's.
func TestDecoys(t *testing.T) {
	u := usersOf(t, "a:-")
	hashes := []hash{newSlow("1"), newSlow("2"), newSlow("3")}
	u.hashes = hashes
	seen := map[hash]int{}
	for i := range 200 {
		name := fmt.Sprint("nobody-", i)
		if u.decoy(name) != u.decoy(name) {
			t.Fatalf("%s has two decoys", name)
		}
		seen[u.decoy(name)]++
	}
	if len(seen) != len(hashes) {
		t.Errorf("%d of %d hashes are decoys", len(seen), len(hashes))
	}
	u.hashes = nil
	if u.decoy("x") != nil {
		t.Error("a decoy where no user has a password")
	}
}

// Many who guess neither fill the machine nor keep out a client that was let in
// before.
func TestGuessersDoNotStopOthers(t *testing.T) {
	h := newSlow("right")
	users := withHash(t, h)
	a := New(Options{Users: fixed(users)})
	close(h.release)
	if _, err := a.Authenticate(basic("ann", "right")); err != nil {
		t.Fatal(err)
	}
	h.release = make(chan struct{})
	users.byName["ann"].hash, users.hashes = h, []hash{h}
	h.count.Store(0)

	var checked, turnedAway sync.WaitGroup
	guess := func(group *sync.WaitGroup, want error) {
		group.Go(func() {
			if _, err := a.Authenticate(basic("ann", rand.Text())); !errors.Is(err, want) {
				t.Errorf("a guess: %v, want %v", err, want)
			}
		})
	}
	a.wait = time.Hour
	for range hashSlots {
		guess(&checked, statesrv.ErrBadCredentials)
	}
	for h.running.Load() < hashSlots {
		time.Sleep(time.Millisecond)
	}
	a.wait = 10 * time.Millisecond
	for range 2 * hashSlots {
		guess(&turnedAway, errBusy)
	}
	turnedAway.Wait()
	if _, err := a.Authenticate(basic("ann", "right")); err != nil {
		t.Errorf("ann, who was let in before: %v", err)
	}
	close(h.release)
	checked.Wait()
	if h.most.Load() != hashSlots || h.count.Load() != hashSlots {
		t.Errorf("%d hashes at once and %d in all, want %d", h.most.Load(), h.count.Load(), hashSlots)
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	h := newSlow("right")
	defer close(h.release)
	a := New(Options{Users: fixed(withHash(t, h))})
	for range hashWaiters {
		a.queue <- struct{}{}
	}
	if _, err := a.Authenticate(basic("ann", "x")); !errors.Is(err, errBusy) {
		t.Errorf("behind a full queue: %v, want %v", err, errBusy)
	}
	for range hashWaiters {
		<-a.queue
	}
	for range hashSlots {
		a.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Authenticate(basic("ann", "x").WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has gone: %v, want %v", err, context.Canceled)
	}
}

// The password that was right is the only one that is recognised.
func TestVerifiedIsOnePassword(t *testing.T) {
	u := usersOf(t, "ann:"+bcryptOf(t, "right"), "bob:"+bcryptOf(t, "other"))
	if u.known("ann", "right") || u.known("ann", "") {
		t.Error("known before it was checked")
	}
	if !u.check("ann", "right") || u.check("ann", "wrong") {
		t.Error("check is wrong")
	}
	for password, want := range map[string]bool{"right": true, "wrong": false, "": false} {
		if u.known("ann", password) != want || u.known("bob", password) {
			t.Errorf("%q: known is not %v for ann, and false for bob", password, want)
		}
	}
}
