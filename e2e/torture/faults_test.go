package torture

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The faults that the table of combinations that cannot exist names.
const (
	interruptGroup      = "SIGINT-group"
	killChild           = "SIGKILL-child"
	crashChild          = "SIGQUIT-child" // it crashes, and ends with an exit code
	killProvider        = "SIGKILL-provider"
	killRunner          = "SIGKILL-runner" // alone: its child is told by the kernel, and ends by itself
	killPod             = "SIGKILL-pod"    // the runner is PID 1: everything ends with it
	stopServer          = "server-stopped"
	serverErrors        = "server-500"
	hangServer          = "server-hangs"
	fullDisk            = "disk-full"
	serverGone          = "server-gone"                  // until the run has ended
	gonePlus            = "server-gone-and-disk-full"    // nothing can be saved where it belongs, nor beside it
	killRescue          = "SIGKILL-pod-while-it-rescues" // the server is gone, and then the pod
	killContainer       = "SIGKILL-container"            // as of the pod, but the next run is the same container, started again
	killContainerRescue = "SIGKILL-container-while-it-rescues"
	killLate            = "SIGKILL-pod-late-request" // what it has sent arrives in the middle of the next run
)

// fault is what is done to a run.
type fault struct {
	name string
	// pod makes the runner PID 1, kills says that it does not end by itself, disk that its working directory is on a
	// small disk, late that the request that is held is kept for the next run, restart that the next run is the same
	// container.
	pod, kills, disk, late, restart bool

	strike func(*trial)
	after  func(*trial) // once the run was let go on
	heal   func(*trial) // once it has ended
}

var faults = []fault{
	{name: "SIGTERM-runner", strike: func(tr *trial) { tr.stop(tr.job.pid, unix.SIGTERM) }},
	{name: interruptGroup, strike: func(tr *trial) { tr.stop(-tr.job.pid, unix.SIGINT) }},
	{name: killChild, strike: func(tr *trial) { tr.kill(tr.job.children(), unix.SIGKILL) }},
	{name: crashChild, strike: func(tr *trial) { tr.kill(tr.job.children(), unix.SIGQUIT) }},
	{name: killRunner, kills: true, strike: (*trial).killRunner},
	{name: killPod, kills: true, pod: true, strike: (*trial).killRunner},
	{name: killProvider, strike: func(tr *trial) { tr.kill(tr.job.providers(), unix.SIGKILL) }},
	{name: stopServer, strike: (*trial).stopAPI, after: (*trial).startAPI},
	{name: serverErrors, strike: func(tr *trial) { tr.proxy.play(fails) }, heal: (*trial).healServer},
	{name: hangServer, strike: (*trial).hang, heal: (*trial).healServer},
	{name: serverGone, strike: (*trial).loseServer, heal: (*trial).findServer},
	{name: fullDisk, disk: true, strike: (*trial).fillDisk},
	{name: gonePlus, disk: true, strike: func(tr *trial) { tr.loseServer(); tr.fillDisk() }, heal: (*trial).findServer},
	{name: killRescue, kills: true, pod: true, strike: (*trial).loseServer, after: (*trial).killInRescue, heal: (*trial).findServer},
	{name: killContainer, kills: true, pod: true, restart: true, strike: (*trial).killRunner},
	{name: killContainerRescue, kills: true, pod: true, restart: true, strike: (*trial).loseServer, after: (*trial).killInRescue, heal: (*trial).findServer},
	{name: killLate, kills: true, pod: true, late: true, strike: (*trial).killRunner},
}

func faultNamed(name string) fault {
	for _, f := range faults {
		if f.name == name {
			return f
		}
	}
	panic("no fault " + name)
}

// seen are the words of a runner that has seen a signal. One that ends at once may not get to the first.
var seen = regexp.MustCompile("asked to stop|signal received")

// stop sends a signal and waits until the runner has seen it.
func (tr *trial) stop(pid int, s syscall.Signal) {
	if err := unix.Kill(pid, s); err != nil {
		tr.t.Fatal(err)
	}
	if !await(10*time.Second, func() bool { return seen.MatchString(tr.job.log()) }) {
		tr.t.Fatalf("the runner has not seen the signal:\n%s", tr.job.log())
	}
}

// kill ends processes by a signal that they do not handle, and gives the servers time to notice that they are gone.
func (tr *trial) kill(victims []process, signal syscall.Signal) {
	if len(victims) == 0 {
		tr.t.Fatalf("nothing to kill among %v:\n%s", tr.job.others(), tr.job.log())
	}
	for _, p := range victims {
		if err := unix.Kill(p.pid, signal); err != nil {
			tr.t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond)
}

func (tr *trial) killRunner() {
	if err := tr.job.cmd.Process.Kill(); err != nil {
		tr.t.Fatal(err)
	}
	<-tr.job.gone
	time.Sleep(100 * time.Millisecond)
}

// killInRescue waits until the state is being rescued.
func (tr *trial) killInRescue() {
	if !await(endTimeout, func() bool { return strings.Contains(tr.job.log(), "rescuing it") }) {
		tr.t.Fatalf("no state is rescued:\n%s", tr.job.log())
	}
	time.Sleep(settleTime)
	tr.killRunner()
}

// loseServer resets every connection to the server, and refuses new ones.
func (tr *trial) loseServer() { tr.proxy.down() }

func (tr *trial) findServer() { tr.proxy.up(tr.t) }

func (tr *trial) healServer() { tr.proxy.heal() }

// hang has the server answer nothing any more. What ends such a run is a deadline: it stops it by a SIGTERM.
func (tr *trial) hang() {
	tr.proxy.play(hangs)
	tr.background(func() {
		time.Sleep(time.Second)
		_ = unix.Kill(tr.job.pid, unix.SIGTERM)
	})
}

// fillDisk leaves no room for a single byte in the working directory.
func (tr *trial) fillDisk() {
	file, err := os.Create(filepath.Join(tr.disk, "filler"))
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		tr.t.Fatal(err)
	}
	_ = file.Close()
}

// stopAPI kills the API server, and cuts the connections to it.
func (tr *trial) stopAPI() {
	tr.proxy.down()
	tr.store.(*kubeStore).server.StopAPI()
}

// startAPI starts it again at once, which takes seconds.
func (tr *trial) startAPI() {
	if err := tr.store.(*kubeStore).server.StartAPI(); err != nil {
		tr.t.Fatal(err)
	}
	tr.proxy.up(tr.t)
}
