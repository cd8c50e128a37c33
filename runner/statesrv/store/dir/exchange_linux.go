package dir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange lets two files of one directory change names in one step.
func (p *place) exchange(a, b string) error {
	fd := p.fd()
	err := unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errNoExchange
	}
	if err != nil {
		return os.NewSyscallError("renameat2", err)
	}
	return nil
}
