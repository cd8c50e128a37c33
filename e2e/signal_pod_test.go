package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// inPodOf runs an operation as the first process of a container of the Job's pod: it has its own processes, mounts and
// hostname.
func (f *fixture) inPodOf(t *testing.T, job, op string, flags ...string) *live {
	t.Helper()
	return f.inContainer(t, job, `exec "$@"`, op, flags...)
}

// inContainer is inPodOf with a shell that starts the runner.
func (f *fixture) inContainer(t *testing.T, job, start, op string, flags ...string) *live {
	t.Helper()
	cmd := f.command(context.Background(), op, append([]string{"--job-name", job}, flags...)...)
	container := `mount --make-rprivate / && mount -t proc proc /proc && echo "$0" >/proc/sys/kernel/hostname && ` + start
	cmd.Args = append([]string{"sh", "-c", container, job + "-x7k2p"}, cmd.Args...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS}
	return f.startCommand(t, cmd)
}

// TestRunnerIsPID1 has orphans come to the runner as they come to the first process of a container: it reaps them
// while the step goes on, obeys a signal that has no default for such a process, and leaves none.
func TestRunnerIsPID1(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tools.Runtimes(t)[0], newStatesrv)
	f.stub(t, `[ "$1" = apply ] || exec "$REAL" "$@"
for i in 1 2 3 4 5; do (setsid sleep 0.1 &); done
(setsid sleep 300 &)
zombies() { grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l; }
sleep 0.5
i=0; while [ $(zombies) != 0 ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done
echo "zombies: $(zombies), parent: $PPID" >&2
exec "$REAL" "$@"
`)
	f.slow(t, "2s", true)
	l := f.inPodOf(t, "the-job", "apply")
	l.says(t, creatingFirst)
	l.signal(t, syscall.SIGTERM)
	o := l.finish(t)
	f.wantDrained(t, o)
	if !strings.Contains(o.stdout, "zombies: 0, parent: 1") {
		t.Errorf("the runner was not PID 1, or did not reap orphans while its child worked\n%s", o)
	}
}

// TestPodStartsAgain kills the whole container with a resource in flight. The next container of the same pod knows that
// the lock is of its own past, and releases it; one of another Job does not.
func TestPodStartsAgain(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newStatesrv)
		f.slow(t, "5m", true)
		l := f.inPodOf(t, "the-job", "apply")
		l.says(t, creatingFirst)
		l.await(t, "the lock is known", func() bool { r := l.partial(); return r != nil && r.Lock.ID != "" })
		id := l.partial().Lock.ID
		l.signal(t, syscall.SIGKILL)
		<-l.ended // and with it every process of the container
		until(t, "the container ends", func() bool { return len(processesIn(f.dir)) == 0 })
		if holder := f.backend.holder(t); holder != id {
			t.Fatalf("the lock is held by %q, want %q: this test shows nothing", holder, id)
		}

		remove(t, f.config+"/slow_override.tf")
		// A pod of another Job, and a host that has only the name of such a pod.
		for pod, flags := range map[string][]string{"another-job": nil, "the-job": {"--job-name", "another-job"}} {
			o := f.inPodOf(t, pod, "apply", append(flags, "--lock-timeout", "0")...).finish(t)
			if o.code != result.ExitRetry || o.result.Error.Reason != result.ReasonLocked || f.backend.holder(t) != id {
				t.Errorf("in a pod of %s: exit %d; want a run of another Job locked out\n%s", pod, o.code, o)
			}
		}
		// Beside other processes of the pod, it does not know which of them holds the lock.
		o := f.inContainer(t, "the-job", `"$@"; exit $?`, "apply", "--lock-timeout", "0").finish(t)
		if o.code != result.ExitRetry || f.backend.holder(t) != id {
			t.Errorf("exit %d; want a runner that is not PID 1 locked out\n%s", o.code, o)
		}
		o = f.inPodOf(t, "the-job", "apply", "--lock-timeout", "0").finish(t)
		if u := o.result.Lock.ForceUnlock; o.code != 0 || u == nil || u.ID != id || u.Outcome != result.OutcomeReleased {
			t.Errorf("exit %d, forceUnlock = %+v; want %s released\n%s", o.code, u, id, o)
		}
		f.wantState(t, both...)
	})
}
