package dir

import (
	"os"
	"syscall"
)

// Foreign returns the owner of a directory if it is not root, who asks. What root writes there belongs to root, and a
// process of the owner cannot read it.
func Foreign(path string) (uid uint32, yes bool) {
	info, err := os.Stat(path)
	if err != nil || os.Geteuid() != 0 {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return stat.Uid, ok && stat.Uid != 0
}
