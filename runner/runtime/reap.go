package runtime

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

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
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var children []int
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parentOf(child) == pid {
			children = append(children, child)
		}
	}
	return children
}

// parentOf reads /proc/PID/stat: the parent is the second field behind the command's name in parentheses,
// which may itself hold anything.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
