package runtime

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Holder is a process that has a file open, which it got from the runner that started it, see [Runtime.Inherited].
type Holder struct {
	PID  int
	Name string // of its executable

	parent int
	plugin bool
}

// HoldersOf finds the processes that have the file open: those of this user, in this PID namespace, without this one.
func HoldersOf(file string) []Holder {
	var all []Holder
	for _, pid := range processes() {
		if pid != os.Getpid() && hasOpen(pid, file) {
			all = append(all, newHolder(pid))
		}
	}
	return all
}

// hasOpen is false for a process that may not be looked at. The path may lead through links.
func hasOpen(pid int, file string) bool {
	wanted, err := os.Stat(file)
	if err != nil {
		return false
	}
	links, _ := filepath.Glob(procFile(pid, "fd/*"))
	return slices.ContainsFunc(links, func(link string) bool {
		open, err := os.Stat(link)
		return err == nil && os.SameFile(open, wanted)
	})
}

func newHolder(pid int) Holder {
	name, _ := os.ReadFile(procFile(pid, "comm"))
	return Holder{PID: pid, Name: string(bytes.TrimSpace(name)), parent: statOf(pid).parent, plugin: isPlugin(pid)}
}

// EndPlugins kills the providers among the holders of a file that no runtime has any more, and returns them. They
// would never end by themselves, and what they do is answered to nobody.
func EndPlugins(file string) []Holder {
	holders := HoldersOf(file)
	alive := map[int]bool{}
	for _, h := range holders {
		alive[h.PID] = true
	}
	var ended []Holder
	for _, h := range holders {
		if h.plugin && !alive[h.parent] && h.kill(file) {
			ended = append(ended, h)
		}
	}
	return ended
}

// kill ends the process, unless its PID has become that of another meanwhile.
func (h Holder) kill(file string) bool {
	fd, err := unix.PidfdOpen(h.PID, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return hasOpen(h.PID, file) && newHolder(h.PID) == h && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
