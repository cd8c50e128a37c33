package runner

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSaver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s saver
		var saves atomic.Int32
		want := func(n int32, when string) {
			t.Helper()
			if got := saves.Load(); got != n {
				t.Errorf("%d saves %s, want %d", got, when, n)
			}
		}
		ask := func(times int) {
			for range times {
				s.soon(func() { saves.Add(1) })
			}
		}
		ask(1)
		want(1, "at once")
		ask(100)
		want(1, "in a burst")
		sleep(savePause)
		want(2, "after a burst")
		sleep(10 * savePause)
		want(2, "when nothing happens")
		ask(1)
		want(3, "after a while")

		ask(1)
		s.settle()
		sleep(10 * savePause)
		want(3, "after settle")
		ask(1)
		want(4, "of the next step")
	})
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
