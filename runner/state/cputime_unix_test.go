//go:build unix

package state

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the time that this process has computed, in the kernel too. Other programs on the machine do not
// count, as they would in the time that has passed.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
