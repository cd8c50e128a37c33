package torture

import (
	"os/exec"
	"path/filepath"
	"time"

	"github.com/captf/captf-runner/runner/lock"
)

// next is one ordinary run, as a controller would start it: with the lock ID handed down when the rule says that
// its holder is dead. The pod of the run before has ended.
func (tr *trial) next() ending {
	if tr.does.restart {
		return tr.restart()
	}
	flags := tr.staleLock()
	if tr.late != nil {
		defer tr.deliverLate()()
	}
	return tr.ordinary("next", flags...)
}

// restart is the same container started again in its pod, as restartPolicy OnFailure does it: in the same working
// directory, with the arguments that it had. Nobody hands down a lock.
func (tr *trial) restart() ending {
	file := filepath.Join(tr.dir, "restart.json")
	return tr.succeed("restart", tr.command(tr.task.op(), tr.workdir(), file, tr.flags()...), file)
}

// staleLock hands down the lock whose holder is dead.
func (tr *trial) staleLock() (flags []string) {
	if l := tr.store.held(tr.t); lock.Judge(l, func(string) bool { return true }, lock.PodFailed) == lock.Stale {
		flags = []string{"--force-unlock", l.ID()}
	}
	return flags
}

// deliverLate lets the request that a dead run has sent arrive when the next one is about to write its state. The
// returned function waits until that has happened.
func (tr *trial) deliverLate() (wait func()) {
	tr.write(filepath.Join(tr.config, "late.tf"), lateOutput) // so that it has something to write
	writes := tr.proxy.hold(tr.store.request(atStateWrite))
	tr.background(func() {
		defer writes.open()
		select {
		case <-writes.reached:
		case <-tr.t.Context().Done():
			return
		}
		tr.late.open()
		<-tr.late.answered
	})
	return func() {
		select {
		case <-tr.late.answered:
		default:
			tr.t.Error("the late request has not come during the next run")
		}
	}
}

// ordinary does the task in a run that nothing disturbs.
func (tr *trial) ordinary(name string, flags ...string) ending {
	tr.t.Helper()
	return tr.succeedIn(tr.task.op(), name, flags...)
}

func (tr *trial) succeedIn(op, name string, flags ...string) ending {
	tr.t.Helper()
	file := filepath.Join(tr.dir, name+".json")
	return tr.succeed(name, tr.command(op, filepath.Join(tr.dir, name), file, append(flags, "--lock-timeout", "60")...), file)
}

// succeed runs what has to end well.
func (tr *trial) succeed(name string, cmd *exec.Cmd, file string) ending {
	tr.t.Helper()
	j := start(tr.t, cmd, tr.does.restart, filepath.Join(tr.dir, name+".log"))
	select {
	case <-j.gone:
	case <-time.After(endTimeout):
		tr.t.Fatalf("the %s run goes on:\n%s", name, j.log())
	}
	e := tr.ending(j, file)
	if e.code != 0 || e.result == nil || !e.result.Succeeded() {
		tr.t.Errorf("the %s run: exit %d, result %s\n%s", name, e.code, e.document, e.log)
	}
	return e
}
