// Package outlet is a process's output that never holds the process up for long.
//
// A pipe whose reader is busy, paused or stuck blocks whoever writes into it. Here the text waits in memory instead,
// up to a bound. A reader that takes nothing for a while then loses lines, and is told how many.
package outlet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

const (
	// capacity is how many bytes wait for a reader.
	capacity = 1 << 20
	// chunk is how many bytes the reader is given at once. A pipe with room takes as many in one piece.
	chunk = 4 << 10
)

// Patience is how long a reader may take nothing, while the memory is full, before lines are dropped, and how long
// after a stop.
type Patience struct{ Running, Stopped time.Duration }

// Outlet is the writer. It is safe for concurrent use; see [New].
type Outlet struct {
	w        io.Writer
	patience Patience
	stopped  <-chan struct{}
	closed   chan struct{}

	mu    sync.Mutex
	moved sync.Cond // something below has changed, or the time for a wait is up
	queue []byte
	since time.Time // when the reader last took something, or was last offered something new after it had all
	lost  int       // lines that no notice tells of yet
	err   error     // of w
	done  bool      // Close was called
}

// New makes an outlet to w. Once stopped is closed, nobody has time to wait for a reader. Every outlet has to be closed.
func New(w io.Writer, patience Patience, stopped <-chan struct{}) *Outlet {
	o := &Outlet{w: w, patience: patience, stopped: stopped, closed: make(chan struct{})}
	o.moved.L = &o.mu
	go o.pump()
	go func() {
		select {
		case <-stopped:
			o.wake()
		case <-o.closed:
		}
	}()
	return o
}

// Write keeps p for the reader. It waits only while the memory is full and the reader takes something now and then;
// otherwise it drops p, which is no error. An error is that of an earlier write to the reader, such as a closed pipe.
func (o *Outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full() && o.wait(o.untilLoss()) {
	}
	switch {
	case o.err != nil:
		return 0, o.err
	case o.full():
		o.lost += max(bytes.Count(p, []byte("\n")), 1)
		return len(p), nil
	}
	o.confess()
	o.add(p)
	return len(p), nil
}

// Close waits until the reader has everything: as long as it takes, because a person may be reading page by page, but
// after a stop only while the reader takes something now and then.
func (o *Outlet) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 && o.wait(o.untilGivenUp()) {
	}
	if !o.done {
		o.done = true
		close(o.closed)
	}
	o.moved.Broadcast()
}

// pump gives the reader what waits for it, until Close. A reader that never takes anything holds it for ever: it ends
// with the process.
func (o *Outlet) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) == 0 {
			if o.done {
				return
			}
			o.moved.Wait()
		}
		next := o.queue[:min(len(o.queue), chunk)]
		o.mu.Unlock()
		_, err := o.w.Write(next)
		o.mu.Lock()
		o.queue = o.queue[len(next):]
		if err != nil {
			o.err, o.queue, o.lost = err, nil, 0
		}
		o.since = time.Now()
		o.confess()
		o.moved.Broadcast()
	}
}

func (o *Outlet) full() bool { return len(o.queue) >= capacity }

func (o *Outlet) add(p []byte) {
	if len(o.queue) == 0 {
		o.since = time.Now()
	}
	o.queue = append(o.queue, p...)
	o.moved.Broadcast()
}

// confess says in the place of lost lines that they are lost, once there is room.
func (o *Outlet) confess() {
	if o.lost > 0 && !o.full() {
		o.add(fmt.Appendf(nil, "[%d lines are missing here: nobody read them in time]\n", o.lost))
		o.lost = 0
	}
}

func (o *Outlet) untilLoss() time.Duration {
	if o.hurried() {
		return o.patience.Stopped
	}
	return o.patience.Running
}

func (o *Outlet) untilGivenUp() time.Duration {
	if o.hurried() {
		return o.patience.Stopped
	}
	return math.MaxInt64
}

func (o *Outlet) hurried() bool {
	select {
	case <-o.stopped:
		return true
	default:
		return false
	}
}

// wait waits for a change. It reports false when there is nothing to wait for: the reader is gone, or has taken
// nothing for that long.
func (o *Outlet) wait(patience time.Duration) bool {
	left := patience - time.Since(o.since)
	if o.err != nil || left <= 0 {
		return false
	}
	timer := time.AfterFunc(left, o.wake)
	defer timer.Stop()
	o.moved.Wait()
	return true
}

// wake wakes those that wait. With the lock it cannot come between their last look and their sleep.
func (o *Outlet) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moved.Broadcast()
}
