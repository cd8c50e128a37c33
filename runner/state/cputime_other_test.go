//go:build !unix

package state

import (
	"testing"
	"time"
)

var start = time.Now()

// cpuTime is the time that has passed, where a process cannot be asked for its own.
func cpuTime(testing.TB) time.Duration { return time.Since(start) }
