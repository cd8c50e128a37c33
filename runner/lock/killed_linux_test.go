package lock_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// endless is a module whose apply does not end.
const endless = `resource "terraform_data" "x" {
  provisioner "local-exec" { command = "sleep 600" }
}`

// TestKilledRun has real runs on a host that is called like a pod of the object's own Job, and kills them with
// SIGKILL. The lock is alive as long as there is a pod of that name, and stale without one. Released, the next run
// takes it. cases.md 1.
func TestKilledRun(t *testing.T) {
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			c := statetest.New(t, kubetest.Shared(t))
			o := object{c.Object, kubetest.Shared(t).Clientset()}
			m := c.Init(t, runtime, endless, must[map[string]string](t)(naming.Labels(c.Object)))
			startAndKill(t, o, m)

			found := must[lock.Finding](t)(o.check(t.Context(), o.client))
			if found.Verdict != lock.Stale || found.Pod != lock.PodNotFound || found.Lock.Info.Host() != o.pod(t) || found.Lock.Info.Operation != "OperationTypeApply" {
				t.Errorf("without a pod: %+v, want it stale", found)
			}
			o.run(t, o.Namespace, o.pod(t), corev1.PodRunning, false)
			if found := must[lock.Finding](t)(o.check(t.Context(), o.client)); found.Verdict != lock.Alive {
				t.Errorf("with a pod: %+v, want it alive", found)
			}
			done := must[lock.Unlock](t)(lock.Release(t.Context(), c.Leases, o.lease(), found.Lock.ID()))
			if done.Outcome != lock.Released {
				t.Errorf("%+v, want it released", done)
			}
			c.Apply(t, runtime, `resource "terraform_data" "y" {}`)
		})
	}
}

// startAndKill kills a run as soon as it holds the lock for its apply.
func startAndKill(t *testing.T, o object, m *statetest.Module) {
	t.Helper()
	cmd := m.Command("apply", "-auto-approve", "-input=false")
	cmd.Args = append([]string{"sh", "-c", `echo "$0" >/proc/sys/kernel/hostname && exec "$@"`, o.pod(t)}, cmd.Args...)
	cmd.Args[4] = cmd.Path
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWUTS}
	if uid := os.Geteuid(); uid != 0 { // whoever is not root needs a user namespace to name a host
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }
	t.Cleanup(kill)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		found := must[lock.Finding](t)(o.check(t.Context(), o.client))
		if found.Lock.Info.Operation == "OperationTypeApply" {
			kill()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no run has taken the lock")
		}
	}
}
