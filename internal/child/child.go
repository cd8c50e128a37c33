// Package child starts the programs that tests need beside them. They end with the test process, however that ends (on
// Linux). Start with [Start].
package child

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Process is a program that was started.
type Process struct {
	Cmd  *exec.Cmd
	Gone <-chan struct{} // closed once it has been waited for
	log  string          // the file with its output
}

// Start starts a program with its output appended to the file log. One without an environment inherits none: what is set
// on this machine must not decide how a test ends.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	dieWithParent(cmd)
	started, gone := make(chan error), make(chan struct{})
	go func() {
		// The kernel sends the death signal when the thread that started the child ends. A
		// locked thread is nobody else's, and ends with this goroutine.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(gone)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return &Process{Cmd: cmd, Gone: gone, log: log}, nil
}

// Kill ends the process at once, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Gone
}

// Died is nil while the process runs; then it says how it ended, with the end of its output.
func (p *Process) Died() error {
	select {
	case <-p.Gone:
		return fmt.Errorf("%s ended: %v\n%s", p.Cmd.Path, p.Cmd.ProcessState, p.Tail())
	default:
		return nil
	}
}

// Output is all that it has printed.
func (p *Process) Output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail is the end of that.
func (p *Process) Tail() string {
	const lines = 30
	all := strings.Split(strings.TrimSpace(p.Output()), "\n")
	return fmt.Sprintf("the end of %s:\n%s", p.log, strings.Join(all[max(0, len(all)-lines):], "\n"))
}
