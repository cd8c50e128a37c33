package kubetest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestChildDiesWithTheTestProcess(t *testing.T) {
	for _, how := range []string{"panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			self := exec.Command(os.Args[0])
			self.Env = append(os.Environ(), "KUBETEST_PARENT="+how, "KUBETEST_DIR="+t.TempDir())
			out, err := self.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := self.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			child, notPID := strconv.Atoi(strings.TrimSpace(line))
			if err != nil || notPID != nil {
				t.Fatalf("the test process said %q, %v; want the pid of its child", line, err)
			}
			if how == "kill" {
				if err := self.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if err := self.Wait(); err == nil {
				t.Error("the test process ended well; want it to be cut short")
			}
			awaitGone(t, child)
		})
	}
}

// awaitGone waits until the kernel has ended a process.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		if !runs(pid) {
			return
		}
		time.Sleep(poll)
	}
	t.Errorf("process %d still runs", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// runs reports whether a process is there, and not a zombie that init has yet to reap.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func TestEndedProcessShowsItsLog(t *testing.T) {
	p := programs{
		etcd: script(t, "etcd", "echo \"ETCD_NAME: [$ETCD_NAME]\"\necho no such flag >&2\nexit 3"),
		api:  script(t, "kube-apiserver", "exec sleep 600"),
	}
	t.Setenv("ETCD_NAME", "set by the caller")
	_, err := start(p)
	for _, want := range []string{"etcd ended: exit status 3", "ETCD_NAME: []", "no such flag"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q in it", err, want)
		}
	}
}

// script writes a program that plays another one.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
