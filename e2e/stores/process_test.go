package stores

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/child"
)

// process is a child that ends with the test.
type process struct{ *child.Process }

// spawn starts a program with this environment.
func spawn(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = env
	p, err := child.Start(cmd, filepath.Join(t.TempDir(), filepath.Base(program)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &process{p}
}

// waitFor returns when ready returns nil.
func (p *process) waitFor(t *testing.T, ready func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ready(); err == nil {
			return
		}
		if err := p.Died(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s is not ready: %v\n%s", p.Cmd.Path, err, p.Output())
}

// waitForEnd returns when the process has ended by itself.
func (p *process) waitForEnd(t *testing.T) {
	t.Helper()
	select {
	case <-p.Gone:
	case <-time.After(time.Minute):
		t.Fatalf("%s goes on:\n%s", p.Cmd.Path, p.Output())
	}
}

// reload sends SIGHUP, as the command of a unit says, and waits until the server tells
// of it.
func (p *process) reload(t *testing.T, command string) {
	t.Helper()
	if command != "/bin/kill -HUP $MAINPID" {
		t.Fatalf("reload by %q, want a SIGHUP", command)
	}
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.waitFor(t, func() error {
		if !strings.Contains(p.Output(), "msg=reloaded") {
			return errors.New("nothing is reloaded")
		}
		return nil
	})
}

// stop sends SIGTERM and waits for a good end.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.waitForEnd(t)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0:\n%s", code, p.Output())
	}
}
