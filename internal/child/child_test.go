package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("CHILD_PARENT"); how != "" {
		parent(how)
	}
	os.Exit(m.Run())
}

// parent plays a test process: it starts a child, prints its pid, and ends in one of the ways in which no
// cleanup runs.
func parent(how string) {
	p, err := Start(exec.Command("/bin/sleep", "600"), os.Getenv("CHILD_LOG"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	endThreads()
	if err := p.Died(); err != nil {
		fmt.Println("the child died with a thread of its parent:", err)
		os.Exit(1)
	}
	fmt.Println(p.Cmd.Process.Pid)
	if how == "panic" {
		panic("as asked")
	}
	time.Sleep(time.Minute) // to be killed
}

// endThreads ends many threads of this process. The child of a thread that is not kept would die with it.
func endThreads() {
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			runtime.LockOSThread()
			time.Sleep(10 * time.Millisecond)
		})
	}
	group.Wait()
	time.Sleep(50 * time.Millisecond) // a thread ends after its goroutine
}

func TestChildDiesWithTheTestProcess(t *testing.T) {
	for _, how := range []string{"panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			self := exec.Command(os.Args[0])
			self.Env = append(os.Environ(), "CHILD_PARENT="+how, "CHILD_LOG="+filepath.Join(t.TempDir(), "log"))
			out, err := self.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := self.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			pid, notPID := strconv.Atoi(strings.TrimSpace(line))
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
			awaitGone(t, pid)
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
		time.Sleep(20 * time.Millisecond)
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
