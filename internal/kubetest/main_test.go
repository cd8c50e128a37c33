package kubetest

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("KUBETEST_PARENT"); how != "" {
		parent(how)
	}
	os.Exit(Run(m))
}

// parent plays a test process: it spawns a child, prints its pid, and ends in one of the ways in which no
// cleanup runs.
func parent(how string) {
	child, err := spawn(os.Getenv("KUBETEST_DIR"), "/bin/sleep", "600")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	endThreads()
	if child.ended() {
		fmt.Println("the child died with a thread of its parent")
		os.Exit(1)
	}
	fmt.Println(child.cmd.Process.Pid)
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
