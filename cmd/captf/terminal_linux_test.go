package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// onTerminal runs the program with its output on a terminal of a width, and returns what is on it.
func (p program) onTerminal(t *testing.T, width uint16, args ...string) string {
	t.Helper()
	screen, output := openTerminal(t, width)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = []string{asProgram + "=1", "HOME=" + t.TempDir(), "KUBECONFIG=" + p.kubeconfig}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output.Close()
	var seen bytes.Buffer
	_, _ = io.Copy(&seen, screen) // its end is an error, EIO
	_ = cmd.Wait()                // the text tells
	return strings.ReplaceAll(seen.String(), "\r\n", "\n")
}

// openTerminal makes a pseudo terminal.
func openTerminal(t *testing.T, width uint16) (screen, output *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: width}); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	output, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, output
}

// A table that does not fit into the terminal is written row by row; where there is no terminal it stays a table, and
// nothing but rows is on standard output.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	for _, command := range []string{"lease show", "state ls", "state backups tm/worker-0", "state rescue tm/worker-0"} {
		if e := p.run(t, strings.Fields(command)...); e.out != "" || e.err == "" || e.code != 0 {
			t.Errorf("%s of nothing: exit code %d, standard output %q", command, e.code, e.out)
		}
	}
	c.Put(t, statetest.Gzip([]byte(document(7))))
	job := putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	gate := lease.Gate{Leases: c.Leases, Jobs: launch.NewClients(kubetest.Shared(t).Clientset(), c.Object.Namespace).Holder}
	if _, err := gate.Enter(t.Context(), lease.Claim{Object: c.Object, Op: naming.Apply, Job: job.Name, Deadline: time.Hour}); err != nil {
		t.Fatal(err)
	}

	wide := p.onTerminal(t, 300, "lease", "show")
	piped := p.run(t, "lease", "show").out
	for where, text := range map[string]string{"on a wide terminal": wide, "piped": piped} {
		if strings.Count(text, "\n") != 2 || !strings.HasPrefix(text, "LEASE") || !strings.Contains(text, job.Name) {
			t.Errorf("%s\n%s", where, text)
		}
	}
	narrow := p.onTerminal(t, 80, "lease", "show")
	if !strings.Contains(narrow, "\nJOB      "+job.Name+"\n") || longest(narrow) > 80 {
		t.Errorf("on 80 columns\n%s", narrow)
	}
	if bare := p.run(t, "lease", "show", "--no-headers").out; strings.Count(bare, "\n") != 1 || strings.Contains(bare, "LEASE") || !strings.Contains(bare, job.Name) {
		t.Errorf("without headers\n%s", bare)
	}
	// The doctor wraps what it tells, and never the commands: they are to be copied.
	for line := range strings.Lines(p.onTerminal(t, 60, "doctor", "tm/worker-0")) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 && !strings.Contains(line, " -> ") && !strings.Contains(line, job.Name) &&
			!strings.HasPrefix(line, "tm/worker-0 in namespace") {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

func longest(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return n
}
