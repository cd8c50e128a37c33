package torture

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// How long a part of a run may take on a busy machine.
const (
	reachTimeout = 2 * time.Minute // to come to the moment of the fault
	endTimeout   = 3 * time.Minute // to end after it

	// settleTime is how long the runner has to read what its child printed before the moment, and to note it in the
	// result. The probe makes a resource at once; what is behind a real provider does not.
	settleTime = 50 * time.Millisecond
)

// deadID is the lock of a run that is long gone.
const deadID = "0b5f0c3e-1111-2222-3333-444444444444"

// trial is one cell being run.
type trial struct {
	cell
	does  fault
	t     *testing.T
	store store
	proxy *proxy

	dir, config, files, gates string
	disk                      string // the small file system
	ledger, rescue, result    string
	binary, runtime           string

	job     *job
	late    *gate         // holds a request that is to arrive late
	started chan struct{} // closed when job is set
	pipe    *fullPipe     // in place of a result file
	tasks   sync.WaitGroup
}

func newTrial(t *testing.T, c cell, servers servers) *trial {
	t.Helper()
	dir := shortDir(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	tr := &trial{
		cell: c, does: faultNamed(c.fault), t: t, dir: dir, config: in("config"), files: in("files"), gates: in("gates"), disk: in("disk"),
		started: make(chan struct{}), ledger: in("ledger"), rescue: in("rescue"), result: in("result.json"),
		binary: tools.Build(t, "./cmd/captf-runner"), runtime: tools.Bin(t, c.runtime),
	}
	for _, dir := range []string{tr.config, tr.files, tr.gates, tr.disk, tr.rescue} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if tr.does.disk {
		tr.mountDisk()
	}
	tr.write(filepath.Join(tr.config, "main.tf"), oneResource)
	tr.write(filepath.Join(tr.config, "terraform.tfvars.json"), `{"files": "`+tr.files+`"}`)
	tr.store, tr.proxy = servers.open(t, c)
	tr.proxy.late = tr.does.late
	t.Cleanup(tr.tasks.Wait)
	return tr
}

// shortDir is a folder for the test. Below it a provider makes a socket, whose path may have 107 bytes: that of
// TempDir has the name of the cell in it, too.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cell-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (tr *trial) mountDisk() {
	if err := syscall.Mount("tmpfs", tr.disk, "tmpfs", 0, "size=512k,mode=700"); err != nil {
		tr.t.Fatalf("mount a small file system (the tests run as root): %v", err)
	}
	tr.t.Cleanup(func() { _ = syscall.Unmount(tr.disk, syscall.MNT_DETACH) })
	if tr.moment == atResult {
		tr.result = filepath.Join(tr.disk, "result.json")
	}
}

// command is a run of the runner. Each has a working directory of its own, as each pod has.
func (tr *trial) command(op, workdir, result string, flags ...string) *exec.Cmd {
	args := slices.Concat([]string{"run", "--op", op, "--bin", tr.runtime, "--module", tr.config, "--config", tr.config,
		"--providers", tools.Mirror(tr.t), "--workdir", workdir, "--result", result, "--rescue-dir", tr.rescue},
		tr.store.settings(tr.proxy.url()), flags)
	cmd := exec.Command(tr.binary, args...)
	cmd.Dir = tr.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PROBE_LEDGER=" + tr.ledger, "PROBE_GATES=" + tr.gates}
	return cmd
}

// workdir is the working directory of the cell's run.
func (tr *trial) workdir() string { return filepath.Join(tr.disk, "work") }

// handsDown tells whether the cell's run is given the lock of a dead one to release. A container that is started
// again still has that argument. At the last two moments the release would be taken for the run's own. A first run
// finds no lock.
func (tr *trial) handsDown() bool {
	if tr.task == begins {
		return false
	}
	return tr.moment == atForceUnlock || tr.does.restart && !slices.Contains([]moment{atInit, atUnlock, atResult}, tr.moment)
}

// grow declares more resources besides the first one.
func (tr *trial) grow(more string) { tr.write(filepath.Join(tr.config, "more.tf"), more) }

// arm has the run be held at the cell's moment.
func (tr *trial) arm() *gate {
	if point := tr.task.gate(tr.moment); point != "" {
		return tr.providerGate(point)
	}
	if tr.moment == atResult {
		if !tr.does.disk { // such a pipe is on no disk
			return tr.resultGate()
		}
		return tr.proxy.hold(tr.store.request(atUnlock))
	}
	return tr.proxy.hold(tr.store.request(tr.moment))
}

// flags are those that bring a run to the moment.
func (tr *trial) flags() []string {
	flags := []string{"--lock-timeout", "5", "--stop-timeout", "20", "--job-name", jobName, "--job-uid", jobUID}
	if tr.moment == atPlan {
		flags = append(flags, "--guard-deletes", "--inputs-hash", "h", "--allow-deletes-hash", "h")
	}
	if tr.handsDown() {
		flags = append(flags, "--force-unlock", deadID)
	}
	return flags
}

// reach starts the cell's run and waits until it is held at the moment.
func (tr *trial) reach() *gate {
	g := tr.arm()
	tr.t.Cleanup(g.open)
	tr.job = start(tr.t, tr.command(tr.task.op(), tr.workdir(), tr.result, tr.flags()...), tr.does.pod, filepath.Join(tr.dir, "first.log"))
	close(tr.started)
	select {
	case <-g.reached:
	case <-tr.job.gone:
		tr.t.Fatalf("the run ended before the moment came:\n%s", tr.job.log())
	case <-time.After(reachTimeout):
		tr.t.Fatalf("the moment has not come:\n%s", tr.job.log())
	}
	return g
}

// suffer runs the cell's run, with the fault in it, until every process of it has ended.
func (tr *trial) suffer() ending {
	g := tr.reach()
	tr.checkTable()
	time.Sleep(settleTime)
	tr.does.strike(tr)
	if tr.does.late {
		tr.late = g
	} else {
		g.open()
	}
	if tr.does.after != nil {
		tr.does.after(tr)
	}
	tr.awaitEnd()
	if tr.does.heal != nil {
		tr.does.heal(tr)
	}
	return tr.ending(tr.job, tr.result)
}

// checkTable proves what impossible says.
func (tr *trial) checkTable() {
	if list := tr.job.providers(); len(list) > 0 != hasProvider(tr.moment) {
		tr.t.Errorf("the providers at this moment are %v: the table of combinations that cannot exist is wrong", list)
	}
	// The result's moment is a little earlier when a disk has to be filled up before it.
	if list := tr.job.children(); len(list) > 0 != hasChild(tr.cell) && !(tr.moment == atResult && tr.does.disk) {
		tr.t.Errorf("the children at this moment are %v: the table of combinations that cannot exist is wrong", list)
	}
}

// awaitEnd waits for the runner, and when that was killed for its child, which the kernel has told.
func (tr *trial) awaitEnd() {
	select {
	case <-tr.job.gone:
	case <-time.After(endTimeout):
		tr.t.Fatalf("the run goes on:\n%s", tr.job.log())
	}
	limit := time.Duration(0)
	if tr.does.kills {
		limit = endTimeout
	}
	if !await(limit, func() bool { return len(tr.job.others()) == 0 }) {
		tr.t.Errorf("processes have outlived the run: %v\n%s", tr.job.others(), tr.job.log())
	}
}

// ending is what a run left.
type ending struct {
	code     int // -1 when it was killed
	document []byte
	result   *result.Result // nil when it left none
	log      string
}

func (tr *trial) ending(j *job, file string) ending {
	tr.t.Helper()
	e := ending{code: j.cmd.ProcessState.ExitCode(), log: j.log()}
	if tr.pipe != nil && j == tr.job {
		e.document = tr.pipe.document()
	} else {
		e.document, _ = os.ReadFile(file)
	}
	var err error
	e.result, err = result.Decode(e.document)
	if err != nil && !errors.Is(err, result.ErrEmpty) {
		tr.t.Errorf("the result: %v\n%s\n%s", err, e.document, e.log)
	}
	return e
}

// background runs a task that ends with the test.
func (tr *trial) background(task func()) { tr.tasks.Go(task) }

// nap waits a little; false when the test is over.
func (tr *trial) nap() bool {
	ctx, cancel := context.WithTimeout(tr.t.Context(), 10*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	return tr.t.Context().Err() == nil
}

func (tr *trial) write(path, text string) {
	tr.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}
