package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// drainTimeout bounds the wait for output after the child ended and its group was killed: only a
// descendant that left the group can still hold the pipes.
const drainTimeout = 2 * time.Second

// pipes carry a child's output. They are our own, not os/exec's, because Wait of the latter does not
// return while a descendant holds them open. The child gets an end that can be read as well: if the runner is
// killed, there is still a reader, and the child does not die of SIGPIPE before it has saved its state.
type pipes struct {
	readers, writers []*os.File
	sinks            []io.Writer
	wg               sync.WaitGroup
}

func newPipes(cmd *exec.Cmd, sinks ...io.Writer) (*pipes, error) {
	p := &pipes{sinks: sinks}
	for range sinks {
		r, w, err := os.Pipe()
		if err != nil {
			p.abandon()
			return nil, err
		}
		p.readers, p.writers = append(p.readers, r), append(p.writers, unbreakable(w))
	}
	cmd.Stdout, cmd.Stderr = p.writers[0], p.writers[1]
	return p, nil
}

// keptOutput is how much a child may print, in bytes, after the runner was killed and before it blocks: the most
// that an unprivileged process may ask for.
const keptOutput = 1 << 20

// unbreakable exchanges the writing end of a pipe for one that is open for reading, too. Where the system cannot
// do that, it stays as it is.
func unbreakable(w *os.File) *os.File {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return w
	}
	w.Close()
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, keptOutput)
	return os.NewFile(uintptr(fd), "|1")
}

func (p *pipes) abandon() {
	for _, f := range append(p.readers, p.writers...) {
		f.Close()
	}
}

func (p *pipes) copy() {
	for i, r := range p.readers {
		p.writers[i].Close()
		sink := p.sinks[i]
		if sink == nil {
			sink = io.Discard
		}
		p.wg.Go(func() { drainInto(sink, r) })
	}
}

// drainInto goes on reading when the sink fails: a child must never block on its output.
func drainInto(sink io.Writer, r io.Reader) {
	if _, err := io.Copy(sink, r); err != nil && !errors.Is(err, os.ErrClosed) {
		_, _ = io.Copy(io.Discard, r)
	}
}

func (p *pipes) drain() {
	done := make(chan struct{})
	go func() { p.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainTimeout):
	}
	for _, r := range p.readers {
		r.Close()
	}
	<-done
}
