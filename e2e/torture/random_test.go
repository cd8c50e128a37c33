package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/runner/result"
)

// TestRandomSignals stops runs at random moments, with one signal or with several. Each has more than the time that
// it needs to end well: so never may a child get a second SIGINT, a runner end before its child, or a process be left.
func TestRandomSignals(t *testing.T) {
	runs := 8
	if whole {
		runs = 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	servers := servers{statesrv: startStatesrv(t)}
	for i := range runs {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		c := cell{backend: onHTTP, runtime: []string{"tofu", "terraform"}[i%2], fault: []string{killRunner, killPod}[random.IntN(2)], task: creates}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			newTrial(t, c, servers).interrupt(random)
		})
	}
}

// interrupt is one run with signals.
func (tr *trial) interrupt(random *rand.Rand) {
	delay := func() string {
		return fmt.Sprintf("delay = \"%dms\"\n  stubborn = %t\n}", random.IntN(500), random.IntN(2) == 0)
	}
	tr.write(filepath.Join(tr.config, "more.tf"), strings.ReplaceAll(twoMore, "\n}", "\n  "+delay()))
	tr.witness()
	cmd := tr.command("apply", filepath.Join(tr.dir, "work"), tr.result, "--stop-timeout", "60")
	tr.job = start(tr.t, cmd, tr.does.pod, filepath.Join(tr.dir, "first.log"))
	sent := tr.shower(random)
	tr.awaitRunner()
	if list := tr.job.others(); len(list) > 0 {
		tr.t.Errorf("the runner has ended before %v", list)
	}
	e := tr.ending(tr.job, tr.result)
	for pid, n := range tr.interrupts() {
		if n > 1 {
			tr.t.Errorf("child %s got %d times SIGINT", pid, n)
		}
	}
	tr.checkStopped(e)
	if tr.t.Failed() {
		tr.t.Logf("signals: %s\nexit %d, result %s\n%s", sent, e.code, e.document, e.log)
	}
}

// shower sends up to three signals, the first of them somewhere in the time that the run takes. What is no runner
// yet knows nothing of signals.
func (tr *trial) shower(random *rand.Rand) (sent string) {
	if !await(reachTimeout, func() bool { return exists(tr.result) }) {
		tr.t.Fatalf("the runner has not begun:\n%s", tr.job.log())
	}
	for range 1 + random.IntN(3) {
		pause := time.Duration(random.Int64N(int64(2500 * time.Millisecond)))
		select {
		case <-time.After(pause):
		case <-tr.job.gone:
			return sent + "and it has ended"
		}
		s, pid := []syscall.Signal{unix.SIGTERM, unix.SIGINT}[random.IntN(2)], tr.job.pid
		if random.IntN(2) == 0 {
			pid = -pid // the whole group, as a terminal does
		}
		sent += fmt.Sprintf("%s to %d after %s, ", s, pid, pause)
		if err := unix.Kill(pid, s); err != nil && !errors.Is(err, unix.ESRCH) {
			tr.t.Error(err)
		}
	}
	return sent
}

func (tr *trial) awaitRunner() {
	select {
	case <-tr.job.gone:
	case <-time.After(endTimeout):
		tr.t.Fatalf("the run goes on:\n%s", tr.job.log())
	}
}

// checkStopped: the run has told what became of it, has left no lock, and has forgotten nothing. Each child was asked
// once and had the time to end well, and the server answers: so it saved its state. Exit code 4 would say that it did
// not, and that of another failure that the signals broke something.
func (tr *trial) checkStopped(e ending) {
	if e.result == nil {
		tr.t.Errorf("no result, exit %d, %s", e.code, tr.job.cmd.ProcessState)
		return
	}
	if e.result.Partial || e.code != e.result.ExitCode() {
		tr.t.Errorf("exit %d, and the result stands for %d, partial %v", e.code, e.result.ExitCode(), e.result.Partial)
	}
	switch failed := e.result.Error; {
	case failed == nil && !tr.task.reached(parseState(tr.t, tr.store.state(tr.t))):
		tr.t.Error("it reads as a success, and not everything is in the state")
	case failed != nil && failed.Kind != result.KindInterrupted:
		tr.t.Errorf("error %+v, want that it was interrupted", failed)
	}
	if e.result.State != nil {
		tr.t.Errorf("state %+v, want that nothing had to be done about it", e.result.State)
	}
	if l := tr.store.held(tr.t); l.Held() {
		tr.t.Errorf("the lock is held by %s", l.Info)
	}
	tr.settle("in the end", account{}, e)
}

// witness puts a shell between the runner and the runtime, that writes down every SIGINT and passes it on.
func (tr *trial) witness() {
	script := filepath.Join(tr.dir, "witness")
	text := `#!/bin/sh
trap 'echo $$ >>"` + script + `.log"; kill -INT $child' INT
"` + tr.runtime + `" "$@" & child=$!
while :; do
	wait $child; code=$?
	kill -0 $child 2>/dev/null || exit $code
done
`
	// A process that another test forks while the file is open for writing would keep it "busy".
	syscall.ForkLock.RLock()
	err := os.WriteFile(script, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.runtime = script
}

// interrupts counts the SIGINTs of each child.
func (tr *trial) interrupts() map[string]int {
	log, err := os.ReadFile(filepath.Join(tr.dir, "witness.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tr.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, pid := range slices.Collect(strings.FieldsSeq(string(log))) {
		counts[pid]++
	}
	return counts
}
