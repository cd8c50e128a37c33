package runtime

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// localLadder is for a child that is given up while the run goes on, such as a lock wait that
// passes its budget: nobody else is waiting for the time.
var localLadder = ladder{again: 10 * time.Second, kill: 20 * time.Second}

// process is one command of the runtime, in a process group of its own: a Ctrl-C on the terminal
// reaches the runner alone, which then sends the child its one SIGINT.
type process struct {
	Command []string // binary and arguments, one element each
	Dir     string
	Env     []string
	Stdin   io.Reader // nil is empty
	Stdout  io.Writer // nil discards
	Stderr  io.Writer

	// Inherited, when not nil, is an open file that the process and all that it starts have, too: a flock on it is held
	// until the last of them has ended.
	Inherited *os.File
}

// Exit says how a process ended.
type Exit struct {
	Code      int            // 128 plus the signal's number when a signal ended it
	Signal    syscall.Signal // 0 when it ended by itself
	Asked     bool           // the runner had sent it a SIGINT
	Pressed   bool           // and a second one
	Killed    bool           // the runner had sent SIGKILL to its group
	GroupGone bool           // no process of its group is left
	Duration  time.Duration
	MaxRSSKiB int64
}

// SignalName is the name of the signal that ended the process, such as SIGKILL; empty when none did.
func (e Exit) SignalName() string {
	if e.Signal == 0 {
		return ""
	}
	return cmp.Or(unix.SignalName(e.Signal), e.Signal.String()) // a real-time signal has no name
}

// Run starts the process and waits for it. When stop is requested it climbs the ladder of the stop
// budget; when ctx ends first, a shorter one of its own. Either way it returns only after the
// process has ended, and then kills what is left of its group. The error says that the process could not be started.
func (p process) Run(ctx context.Context, stop *Stop) (Exit, error) {
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Dir, p.Env, p.Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.Inherited != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, p.Inherited)
	}
	line, err := newLifeline(cmd)
	if err != nil {
		return Exit{}, fmt.Errorf("lifeline of %s: %w", p.Command[0], err)
	}
	defer line.close()
	out, err := newPipes(cmd, p.Stdout, p.Stderr)
	if err != nil {
		return Exit{}, fmt.Errorf("pipes for %s: %w", p.Command[0], err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		out.abandon()
		return Exit{}, fmt.Errorf("start %s: %w", p.Command[0], err)
	}
	line.tie(cmd.Process.Pid)
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
	defer reapWhile(ended, cmd.Process.Pid)()
	var exit Exit
	select {
	case <-ended:
		return exitOf(cmd.ProcessState, exit)
	case <-ctx.Done():
		press(cmd, ended, localLadder, &exit)
	case <-stop.Done():
		press(cmd, ended, stop.ladder(), &exit)
	}
	return exitOf(cmd.ProcessState, exit)
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
			exit.Pressed = true
			_ = cmd.Process.Signal(os.Interrupt)
		case <-kill.C:
			exit.Killed = true
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
			return
		}
	}
}

func exitOf(state *os.ProcessState, exit Exit) Exit {
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
