package torture

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gate is where a run is held while the fault strikes.
type gate struct {
	reached  chan struct{} // closed when the run is there
	opened   chan struct{}
	answered chan struct{} // closed when the request that was held has got its answer
	open     func()        // lets it go on
}

func newGate() *gate {
	g := &gate{reached: make(chan struct{}), opened: make(chan struct{}), answered: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	return g
}

// stay is called by what is held.
func (g *gate) stay() {
	close(g.reached)
	<-g.opened
}

// providerGate holds a call of the test provider, see scripts/tools/probe.
func (tr *trial) providerGate(point string) *gate {
	g := newGate()
	file := filepath.Join(tr.gates, point)
	tr.write(file, "")
	tr.background(func() {
		for !exists(file + ".reached") {
			if !tr.nap() {
				return
			}
		}
		g.stay()
		_ = os.Remove(file)
	})
	return g
}

// resultGate holds the runner in the last write of its result.
func (tr *trial) resultGate() *gate {
	g := newGate()
	tr.pipe = newFullPipe(tr.t, tr.result)
	unlock := tr.proxy.hold(tr.store.request(atUnlock))
	unlock.open()
	tr.background(func() {
		for _, happened := range []chan struct{}{tr.started, unlock.reached} {
			select {
			case <-happened:
			case <-tr.t.Context().Done():
				return
			}
		}
		for len(tr.job.others()) > 0 {
			if !tr.nap() {
				return
			}
		}
		time.Sleep(100 * time.Millisecond) // it is on its way to the write, and stays in it
		g.stay()
		tr.pipe.empty()
	})
	return g
}

// fullPipe is a named pipe that whoever writes into it blocks on.
type fullPipe struct {
	file *os.File
	text bytes.Buffer
	done chan struct{}
}

func newFullPipe(t *testing.T, path string) *fullPipe {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := fill(file); err != nil {
		t.Fatalf("fill %s: %v", path, err)
	}
	return &fullPipe{file: file, done: make(chan struct{})}
}

// fill writes until there is no room for a single byte.
func fill(pipe *os.File) error {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for _, size := range []int{os.Getpagesize(), 1} {
			for failed = nil; failed == nil; {
				_, failed = unix.Write(int(fd), make([]byte, size))
			}
		}
	})
	if errors.Is(failed, unix.EAGAIN) {
		failed = nil
	}
	return errors.Join(err, failed)
}

// empty begins to read the pipe.
func (p *fullPipe) empty() {
	go func() {
		defer close(p.done)
		_, _ = io.Copy(&p.text, p.file)
	}()
}

// document is what was written into the pipe besides what it was filled with.
func (p *fullPipe) document() []byte {
	_ = p.file.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	<-p.done
	return bytes.Trim(p.text.Bytes(), "\x00")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
