package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// job is a runner that was started, in a session of its own: by that its descendants are found, whatever
// became of their parents.
type job struct {
	cmd    *exec.Cmd
	pid    int
	gone   chan struct{}
	output string // the file with its standard output and error
}

// The Job that a runner in a pod is told that it belongs to.
const (
	jobName = "job"
	jobUID  = "0e2b7a51-6d0e-4d2a-91a8-1d4f0e6a5b11"
)

// inPod makes the runner PID 1 of a PID namespace, as it is in a container: when it is killed, everything ends. The
// host has the name of a pod of the Job.
const inPod = `mount --make-rprivate / && mount -t proc proc /proc && echo ` + jobName + `-abcde >/proc/sys/kernel/hostname && exec "$0" "$@"`

func start(t *testing.T, cmd *exec.Cmd, pod bool, output string) *job {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if pod {
		cmd.Args = append([]string{"sh", "-c", inPod}, cmd.Args...)
		cmd.Path = "/bin/sh"
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS
	}
	out, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	j := &job{cmd: cmd, pid: cmd.Process.Pid, gone: make(chan struct{}), output: output}
	go func() {
		_ = cmd.Wait()
		close(j.gone)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-j.gone
		for _, p := range j.others() {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
	})
	return j
}

// process is a descendant of a runner.
type process struct {
	pid, parent int
	command     string
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.command) }

func (p process) provider() bool { return strings.Contains(p.command, "terraform-provider-") }

// others are the living processes of the job besides the runner.
func (j *job) others() (list []process) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || pid == j.pid {
			continue
		}
		if session, err := unix.Getsid(pid); err != nil || session != j.pid {
			continue
		}
		if p, alive := readProcess(entry, pid); alive {
			list = append(list, p)
		}
	}
	return list
}

// readProcess reads /proc/PID. One that has ended, and that nobody has waited for yet, is not alive.
func readProcess(entry string, pid int) (p process, alive bool) {
	stat, err := os.ReadFile(filepath.Join(entry, "stat"))
	if err != nil {
		return p, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return p, false
	}
	parent, _ := strconv.Atoi(fields[1])
	command, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
	return process{pid: pid, parent: parent, command: string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))}, true
}

// children are the runtime's processes that the runner has started.
func (j *job) children() []process {
	return slices.DeleteFunc(j.others(), func(p process) bool { return p.parent != j.pid || p.provider() })
}

func (j *job) providers() []process {
	return slices.DeleteFunc(j.others(), func(p process) bool { return !p.provider() })
}

func (j *job) log() string {
	text, err := os.ReadFile(j.output)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// await polls until the condition holds; false when it does not come to it in time.
func await(limit time.Duration, condition func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if condition() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
