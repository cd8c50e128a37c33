package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"sync"
	"syscall"
	"time"
)

// drainTimeout bounds the wait for output after the child ended and its group was killed: only a
// descendant that left the group can still hold the pipes.
const drainTimeout = 2 * time.Second

// localLadder is for a child that is given up while the run goes on, such as a lock wait that
// passes its budget: nobody else is waiting for the time.
var localLadder = ladder{again: 10 * time.Second, kill: 20 * time.Second}

// Process is one command of the runtime, in a process group of its own: a Ctrl-C on the terminal
// reaches the runner alone, which then sends the child its one SIGINT.
type Process struct {
	Command []string // binary and arguments, one element each
	Dir     string
	Env     []string
	Stdin   io.Reader // nil is empty
	Stdout  io.Writer // nil discards
	Stderr  io.Writer
}

// Exit says how a process ended.
type Exit struct {
	Code      int            // 128 plus the signal's number when a signal ended it
	Signal    syscall.Signal // 0 when it ended by itself
	Asked     bool           // the runner had sent it a SIGINT
	Killed    bool           // the runner had sent SIGKILL to its group
	GroupGone bool           // no process of its group is left
	Duration  time.Duration
	MaxRSSKiB int64
}

// Run starts the process and waits for it. When stop is requested it climbs the ladder of the stop
// budget; when ctx ends first, a shorter one of its own. Either way it returns only after the
// process has ended, and then kills what is left of its group. The error says that the process could not be started.
func (p Process) Run(ctx context.Context, stop *Stop) (Exit, error) {
	// Pdeathsig follows the thread that started the child, so that thread must live as long.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()

	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Dir, p.Env, p.Stdin
	// If the runner is killed, the child is asked to end: it saves its state and unlocks it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	out, err := newPipes(cmd, p.Stdout, p.Stderr)
	if err != nil {
		return Exit{}, fmt.Errorf("pipes for %s: %w", p.Command[0], err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		out.abandon()
		return Exit{}, fmt.Errorf("start %s: %w", p.Command[0], err)
	}
	out.copy()
	exit := waitFor(ctx, cmd, stop)
	exit.Duration = time.Since(start)
	// Providers and provisioners share the group. Those that outlived the runtime would go on changing things.
	exit.GroupGone = endGroup(cmd.Process.Pid)
	out.drain()
	return exit, nil
}

// waitFor waits for a started command and presses it to end when it must.
func waitFor(ctx context.Context, cmd *exec.Cmd, stop *Stop) Exit {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state says all
		close(ended)
	}()
	var exit Exit
	select {
	case <-ended:
		return exitOf(cmd, exit)
	case <-ctx.Done():
		press(cmd, ended, localLadder, &exit)
	case <-stop.Done():
		press(cmd, ended, stop.ladder(), &exit)
	}
	return exitOf(cmd, exit)
}

// press sends SIGINT, later a second one, and at last SIGKILL to the group. The first two go to the
// process alone: a provider dies of them, and takes the resource in flight with it.
func press(cmd *exec.Cmd, ended <-chan struct{}, l ladder, exit *Exit) {
	exit.Asked = true
	_ = cmd.Process.Signal(os.Interrupt)
	again, kill := time.NewTimer(l.again), time.NewTimer(l.kill)
	defer again.Stop()
	defer kill.Stop()
	for {
		select {
		case <-ended:
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt)
		case <-kill.C:
			exit.Killed = true
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
			return
		}
	}
}

func exitOf(cmd *exec.Cmd, exit Exit) Exit {
	state := cmd.ProcessState
	if state == nil {
		exit.Code = -1
		return exit
	}
	exit.Code = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal()
		exit.Code = 128 + int(exit.Signal)
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		exit.MaxRSSKiB = usage.Maxrss
	}
	return exit
}

// pipes carry a child's output. They are our own, not os/exec's, because Wait of the latter does not
// return while a descendant holds them open.
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
		p.readers, p.writers = append(p.readers, r), append(p.writers, w)
	}
	cmd.Stdout, cmd.Stderr = p.writers[0], p.writers[1]
	return p, nil
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
