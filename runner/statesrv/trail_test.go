package statesrv

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The first change is written at once, those that come meanwhile together, and a wait
// ends when all of them are written.
func TestTrail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		changes := map[string]int{}
		tr := &trail{write: func(name string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(name, changes[name]))
		}}
		change := func(name string) {
			mu.Lock()
			changes[name]++
			mu.Unlock()
			tr.add(name)
		}
		change("a")
		synctest.Wait()
		for range 5 {
			change("a")
		}
		change("b")
		tr.wait(t.Context())
		change("a")
		synctest.Wait()
		if want := "[a1 b1 a6]"; fmt.Sprint(got) != want && fmt.Sprint(got) != "[a1 a6 b1]" {
			t.Errorf("written were %v, want %s: the last change has to wait", got, want)
		}
		tr.wait(t.Context())
		if last := got[len(got)-1]; last != "a7" {
			t.Errorf("after the wait the last is %s, want a7", last)
		}
		time.Sleep(3 * trailPause) // until its workers have ended
		if left := tr.hurry(); len(left) > 0 {
			t.Errorf("%d rounds are left with nothing to do", len(left))
		}
	})
}

// A wait for files that cannot be written ends with its context.
func TestTrailIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		tr := &trail{write: func(string) { <-stuck }}
		tr.add("a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tr.wait(ctx)
		close(stuck)
		time.Sleep(3 * trailPause)
	})
}
