package kubetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// process is a child that ends when the test process does.
type process struct {
	name string
	log  string // the file with its output
	cmd  *exec.Cmd
	gone chan struct{} // closed once the child has been waited for
}

// spawn starts a program in a directory, with its output appended to NAME.log there. The child does not
// inherit the environment: etcd takes settings from it.
func spawn(dir, program string, args ...string) (*process, error) {
	name := filepath.Base(program)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), gone: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir, p.cmd.Env = dir, []string{"HOME=" + dir}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	dieWithParent(p.cmd)
	started := make(chan error)
	go func() {
		// The kernel sends the death signal when the thread that started the child ends. A
		// locked thread is nobody else's, and ends with this goroutine.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			close(p.gone)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// kill ends the process at once, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// ended reports whether the process has ended by itself.
func (p *process) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// died is the error of a process that ended by itself, with the end of its log.
func (p *process) died() error {
	return fmt.Errorf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, p.tail())
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	const lines = 30
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("the end of %s:\n%s", p.log, strings.Join(all[max(0, len(all)-lines):], "\n"))
}
