package stores

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a child that ends with the test.
type process struct {
	cmd  *exec.Cmd
	log  string        // the file with its output
	gone chan struct{} // closed once the child has been waited for
}

// spawn starts a program with its output in a file. It inherits no environment.
func spawn(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	p := &process{log: filepath.Join(t.TempDir(), filepath.Base(program)+".log"), gone: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, out, out
	dieWithParent(p.cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the death signal comes with the end of this thread
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			close(p.gone)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.gone
	})
	return p
}

// waitFor returns when ready returns nil.
func (p *process) waitFor(t *testing.T, ready func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ready(); err == nil {
			return
		}
		select {
		case <-p.gone:
			t.Fatalf("%s ended: %v\n%s", p.cmd.Path, p.cmd.ProcessState, p.output())
		default:
		}
	}
	t.Fatalf("%s is not ready: %v\n%s", p.cmd.Path, err, p.output())
}

// waitForEnd returns when the process has ended by itself.
func (p *process) waitForEnd(t *testing.T) {
	t.Helper()
	select {
	case <-p.gone:
	case <-time.After(time.Minute):
		t.Fatalf("%s goes on:\n%s", p.cmd.Path, p.output())
	}
}

// reload sends SIGHUP, as the command of a unit says, and waits until the server tells
// of it.
func (p *process) reload(t *testing.T, command string) {
	t.Helper()
	if command != "/bin/kill -HUP $MAINPID" {
		t.Fatalf("reload by %q, want a SIGHUP", command)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.waitFor(t, func() error {
		if !strings.Contains(p.output(), "msg=reloaded") {
			return errors.New("nothing is reloaded")
		}
		return nil
	})
}

// stop sends SIGTERM and waits for a good end.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.waitForEnd(t)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0:\n%s", code, p.output())
	}
}

func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
