package runtime

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// await looks at the work of the running command until it is as wanted.
func await(t *testing.T, what string, wanted func(Work) bool) Work {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if w := WorkSoFar(); wanted(w) {
			return w
		} else if time.Now().After(deadline) {
			t.Fatalf("not seen: %s, but %v", what, w)
		}
	}
}

// What a command does, and what it has started, is seen; one that only waits is idle.
func TestWorkSoFar(t *testing.T) {
	input, steps, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	p := process{Command: []string{"/bin/sh", "-c", `read go; TF_PLUGIN_MAGIC_COOKIE=1 sleep 600 & exec cat`}, Stdin: input}
	stop := NewStop(time.Second)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err = p.Run(t.Context(), stop)
	}()
	tell := func(text string) {
		if _, err := io.WriteString(steps, text); err != nil {
			t.Fatal(err)
		}
	}
	waiting := await(t, "a command", func(w Work) bool { return len(w) == 1 })
	if now := WorkSoFar(); now.HasPlugin() || !now.Idle(waiting) {
		t.Errorf("it only waits, and has done %v after %v", now, waiting)
	}
	tell("go\n")
	both := await(t, "another process of it", func(w Work) bool { return len(w) == 2 && w.HasPlugin() })
	tell(strings.Repeat("x", idleBytes))
	await(t, "that it reads", func(w Work) bool { return !w.Idle(both) })
	stop.Request(io.EOF)
	<-ended
	if err != nil {
		t.Error(err)
	}
	if left := WorkSoFar(); len(left) > 0 || left.Idle(both) {
		t.Errorf("left %v, and it is said to be idle", left)
	}
}

// Reading and writing are work.
func TestWorkOfBytes(t *testing.T) {
	before := Work{1: {Bytes: 1000}, 2: {Bytes: 1}}
	for name, row := range map[string]struct {
		now  Work
		idle bool
	}{
		"nothing":                    {Work{1: {Bytes: 1000}, 2: {Bytes: 1}}, true},
		"a keepalive":                {Work{1: {Bytes: 1100}, 2: {Bytes: 1}}, true},
		"a state":                    {Work{1: {Bytes: 1000 + idleBytes}}, false},
		"a little of each":           {Work{1: {Bytes: 1000 + idleBytes/2}, 2: {Bytes: 1 + idleBytes/2}}, false},
		"what a new process does":    {Work{1: {Bytes: 1000}, 3: {Bytes: idleBytes}}, false},
		"time":                       {Work{1: {Bytes: 1000, CPU: idleCPU}}, false},
		"nothing that could be seen": {nil, false},
	} {
		if got := row.now.Idle(before); got != row.idle {
			t.Errorf("%s: idle %v, want %v", name, got, row.idle)
		}
	}
}
