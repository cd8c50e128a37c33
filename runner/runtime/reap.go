package runtime

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endTimeout bounds the wait for killed processes to be gone. Only one that hangs in the kernel takes longer.
const endTimeout = 5 * time.Second

// Adopt makes orphans of the runner's descendants the runner's own children, as they are for PID 1, so
// that it can end and reap every one of them.
func Adopt() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// endGroup kills what is left of a child's process group after the child was reaped, and reaps what the
// runner has adopted of it. It reports whether the whole group is gone.
func endGroup(pgid int) (gone bool) {
	deadline := time.Now().Add(endTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if errors.Is(unix.Kill(-pgid, unix.SIGKILL), unix.ESRCH) {
			return true
		}
		for {
			// By group, never by -1: other children are waited for by those who started them.
			if pid, err := unix.Wait4(-pgid, nil, unix.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}

// reapEvery is how often a runner that adopts orphans looks for those that have ended.
const reapEvery = 500 * time.Millisecond

// reapWhile reaps orphans that have ended, until the child itself has. What the function that it returns waits for is
// over then: nobody may reap a child that is started next.
func reapWhile(ended <-chan struct{}, child int) (wait func()) {
	if !adopts() {
		return func() {}
	}
	var reaping sync.WaitGroup
	reaping.Go(func() {
		tick := time.NewTicker(reapEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				reapOrphans(child)
			}
		}
	})
	return reaping.Wait
}

// adopts tells whether orphans of the runner's descendants become its children.
func adopts() bool {
	var subreaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	return err == nil && subreaper != 0 || os.Getpid() == 1
}

// reapOrphans reaps the children that have ended, but for the one that is waited for.
func reapOrphans(child int) {
	if !hasEndedChild() {
		return
	}
	for _, pid := range childrenOf(os.Getpid()) {
		if pid != child {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// hasEndedChild asks the kernel, which is much cheaper than to read all of /proc.
func hasEndedChild() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// killChildren kills the groups of the runner's children. It is for when only one of them was started, and does not end.
func killChildren() {
	for _, pid := range childrenOf(os.Getpid()) {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// EndDescendants kills and reaps every process that still descends from the runner, whatever session or
// group it moved to. It is for the very end of a run: no command may be running.
func EndDescendants() {
	deadline := time.Now().Add(endTimeout)
	for hasChildren() && time.Now().Before(deadline) {
		for _, pid := range childrenOf(os.Getpid()) {
			_ = unix.Kill(pid, unix.SIGKILL) // its own children become ours, for the next round
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// hasChildren asks the kernel, which is much cheaper than to read all of /proc.
func hasChildren() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return !errors.Is(err, unix.ECHILD)
}

// childrenOf reads the direct children from /proc.
func childrenOf(pid int) []int {
	return slices.DeleteFunc(processes(), func(p int) bool { return statOf(p).parent != pid })
}
