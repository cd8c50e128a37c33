package runtime

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Work is what each process of the running command has done so far, by its process ID. It holds no more than /proc
// tells: two of them show whether anything was done in between.
type Work map[int]Done

// Done is what a process has done.
type Done struct {
	Bytes int64         // read and written, sockets included; 0 where the kernel does not tell
	CPU   time.Duration // user and system

	Plugin bool // it is a provider
}

// What a process that waits for an answer may do: keep its connection alive, and run its garbage collector.
const (
	idleBytes = 4 << 10
	idleCPU   = time.Second
)

// WorkSoFar looks at the groups of the runner's children: the runtime that runs, and what it has started.
func WorkSoFar() Work {
	stats, groups := map[int]procStat{}, map[int]bool{}
	for _, pid := range processes() {
		s := statOf(pid)
		stats[pid] = s
		groups[pid] = s.parent == os.Getpid()
	}
	work := Work{}
	for pid, s := range stats {
		if groups[s.group] {
			work[pid] = Done{Bytes: bytesOf(pid), CPU: s.cpu, Plugin: isPlugin(pid)}
		}
	}
	return work
}

// HasPlugin tells whether a provider runs.
func (w Work) HasPlugin() bool {
	for _, done := range w {
		if done.Plugin {
			return true
		}
	}
	return false
}

// Idle tells whether the processes did nothing since then but wait. Of what cannot be seen nobody knows.
func (w Work) Idle(since Work) bool {
	if len(w) == 0 {
		return false
	}
	var bytes int64
	var cpu time.Duration
	for pid, now := range w {
		bytes += now.Bytes - since[pid].Bytes
		cpu += now.CPU - since[pid].CPU
	}
	return bytes < idleBytes && cpu < idleCPU
}

// bytesOf reads what the read and write calls of a process have moved.
func bytesOf(pid int) (sum int64) {
	io, err := os.ReadFile(procFile(pid, "io"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(io)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && (name == "rchar" || name == "wchar") {
			sum += n
		}
	}
	return sum
}
