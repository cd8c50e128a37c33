package runtime

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// processes reads the IDs of all processes from /proc.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// procStat is what /proc/PID/stat says of a process; the zero value is one that is gone.
type procStat struct {
	parent, group int
	cpu           time.Duration // user and system
}

// tick is the unit in which the kernel tells CPU times, everywhere.
const tick = 10 * time.Millisecond

// statOf reads the fields behind the command's name in parentheses, which may itself hold anything.
func statOf(pid int) procStat {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return procStat{}
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return procStat{}
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	return procStat{parent: number(1), group: number(2), cpu: time.Duration(number(11)+number(12)) * tick}
}

// pluginCookie is in the environment of a provider, by which it knows that a runtime has started it.
const pluginCookie = "TF_PLUGIN_MAGIC_COOKIE="

func isPlugin(pid int) bool {
	environ, _ := os.ReadFile(procFile(pid, "environ"))
	return bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+pluginCookie))
}
