//go:build e2e

package cluster

import (
	"context"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// images are pods that cannot work.
func images() []fault {
	image := func(name string) func(*launch.Template) {
		return func(t *launch.Template) {
			t.Deadline, t.Image = 10*time.Second, name
		}
	}
	return []fault{
		{name: "image that cannot be pulled", variables: quick, template: image("localhost/nowhere:dev"), ends: never, locks: free},
		{
			name: "image without a module", variables: quick, locks: free,
			template: func(t *launch.Template) { t.Image = "localhost/captf-opentofu:dev" },
			ends:     failed(result.ExitFailed, result.KindImageLayout, result.ReasonConfig),
		},
	}
}

// outages are components of the cluster that are away for a while.
func outages() []fault {
	return []fault{
		{
			name: "kubelet restarted", alone: true, variables: slow, locks: free, ends: succeeded,
			hit: func(t *testing.T, s *subject, _ *batchv1.Job) {
				s.awaitSecond(t)
				node(t, "stop", "kubelet")
				defer node(t, "start", "kubelet")
				poll(t, "the end of the run without a kubelet", func(context.Context) (bool, error) {
					return s.look(t).Verdict == lock.Free, nil
				})
			},
		},
		{
			name: "API server restarted", alone: true, variables: slow, locks: free,
			hit: func(t *testing.T, s *subject, _ *batchv1.Job) {
				s.awaitSecond(t)
				node(t, "stop", "kube-apiserver")
				defer s.awaitAPI(t)
				defer node(t, "start", "kube-apiserver")
				poll(t, "the second file", func(context.Context) (bool, error) { return s.made("second"), nil })
				time.Sleep(5 * time.Second) // that is how long the outage goes on
			},
			ends: func(e ending) bool {
				return e.result != nil && e.result.State != nil && e.result.State.Saved == result.SavedPushed
			},
		},
		{
			name: "API server away for longer than the runner waits", long: true, alone: true, variables: slow, locks: stale,
			template: func(t *launch.Template) {
				impatient(t)
				rescueTo(dataDir)(t)
			},
			hit:  func(t *testing.T, s *subject, job *batchv1.Job) { s.outliveRunner(t, job) },
			ends: unsaved(result.SavedRescueDir),
			repair: func(t *testing.T, s *subject, job string) {
				s.restoreRescued(t)
				s.forgive(t, job)
			},
		},
		{
			// All of the node's processes end at once, the control plane's, too, and come back with what was on its disk.
			name: "node rebooted", long: true, alone: true, variables: slower, locks: stale, lost: true,
			hit: func(t *testing.T, s *subject, _ *batchv1.Job) {
				s.awaitSecond(t)
				node(t, "reboot")
			},
			ends: func(e ending) bool { return e.condition == string(launch.Interrupted) },
		},
		{
			// Nobody tells what became of the pod, until a person says that the node is off: docs/runbooks.md.
			name: "node out of reach, then tainted `out-of-service`", long: true, alone: true, variables: slower, locks: stale, lost: true,
			hit:  func(t *testing.T, s *subject, job *batchv1.Job) { s.giveNodeUp(t, job) },
			ends: func(e ending) bool { return e.condition == string(launch.Interrupted) },
		},
	}
}

// outOfService is the taint by which a person says that a node is off.
const outOfService = "node.kubernetes.io/out-of-service"

// giveNodeUp has the runner's node fall silent, and the runner die with it. To delete the pod is not enough.
func (s *subject) giveNodeUp(t *testing.T, job *batchv1.Job) {
	t.Helper()
	s.awaitSecond(t)
	node(t, "stop", "kubelet")
	defer node(t, "start", "kubelet")
	killProcess(t, runnerProcess(t, job))
	name := kubectl(t, "get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
	kubectl(t, "wait", "--for=condition=Ready=Unknown", "--timeout=2m", "node/"+name)
	s.deletePod(t, job, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if found := s.look(t); found.Verdict != lock.Alive {
		t.Errorf("a pod was deleted of which nobody knows whether it runs, and its lock is %s", found.Verdict)
	}
	kubectl(t, "taint", "nodes", name, outOfService+"=nodeshutdown:NoExecute")
	defer kubectl(t, "taint", "nodes", name, outOfService+"-")
	poll(t, "the end of the Job", func(ctx context.Context) (bool, error) {
		return s.look(t).Verdict != lock.Alive, nil
	})
}

// killProcess ends a process of a pod at once. proc is its folder in /proc.
func killProcess(t *testing.T, proc string) {
	t.Helper()
	pid, err := strconv.Atoi(filepath.Base(proc))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatalf("kill process %q: %v", proc, err)
	}
}

// outliveRunner keeps the API server away until the runner has ended.
func (s *subject) outliveRunner(t *testing.T, job *batchv1.Job) {
	t.Helper()
	s.awaitSecond(t)
	node(t, "stop", "kube-apiserver")
	defer s.awaitAPI(t)
	defer node(t, "start", "kube-apiserver")
	poll(t, "the end of the runner", func(context.Context) (bool, error) { return runnerProcess(t, job) == "", nil })
}

func (s *subject) awaitAPI(t *testing.T) {
	poll(t, "the API server", func(ctx context.Context) (bool, error) {
		return s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}
