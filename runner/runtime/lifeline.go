package runtime

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// lifeline is how a child learns that the runner was killed: the kernel sends it one SIGINT, and it saves its
// state and releases its lock.
//
// It is a pipe. The runner holds the only writing end. The child inherits the reading end, which it never reads, and
// which is set up to raise the signal when the last writer is gone. PR_SET_PDEATHSIG sends the signal once for each
// thread of a dying parent that the child is handed on to, and at a second SIGINT a runtime gives up what is in
// flight.
type lifeline struct{ child, runner *os.File }

func newLifeline(cmd *exec.Cmd) (l lifeline, err error) {
	l.child, l.runner, err = os.Pipe()
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.child)
	return l, err
}

// tie names the started child as the one to be told. Where the system cannot do that, a child whose
// runner was killed goes on to its ordinary end.
func (l lifeline) tie(pid int) {
	fd := l.child.Fd()
	flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
	if err != nil {
		return
	}
	_, _ = unix.FcntlInt(fd, unix.F_SETOWN, pid)
	_, _ = unix.FcntlInt(fd, unix.F_SETSIG, int(syscall.SIGINT))
	_, _ = unix.FcntlInt(fd, unix.F_SETFL, flags|unix.O_ASYNC)
}

// close is for after the child has ended.
func (l lifeline) close() {
	l.child.Close()
	l.runner.Close()
}
