//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// limit bounds every wait; what it waits for takes seconds on an idle machine.
const limit = 4 * time.Minute

// ending is how a Job ended, as a controller sees it.
type ending struct {
	job       string
	condition string // Complete, or Failed with its reason; of a launch, the verdict
	exit      int32  // of the runner's container; -1 when it never ended
	reason    string // of the same, such as OOMKilled
	result    *result.Result
	document  string
}

func (e ending) String() string {
	return fmt.Sprintf("%s, exit %d %s, result %s", e.condition, e.exit, e.reason, e.document)
}

// short is for the table.
func (e ending) short() string {
	words := []string{e.condition}
	if e.exit >= 0 {
		words = append(words, fmt.Sprintf("exit %d", e.exit))
	}
	if e.reason == "OOMKilled" {
		words = append(words, e.reason)
	}
	switch r := e.result; {
	case r == nil:
		words = append(words, "no result")
	case r.Partial:
		words = append(words, "partial result")
	case r.Error != nil && r.Error.Reason != "":
		words = append(words, string(r.Error.Kind)+"/"+string(r.Error.Reason))
	case r.Error != nil:
		words = append(words, string(r.Error.Kind))
	}
	if e.result != nil && e.result.State != nil {
		words = append(words, "state "+string(e.result.State.Saved))
	}
	return strings.Join(words, ", ")
}

// poll waits until a condition holds.
func poll(t *testing.T, what string, done func(ctx context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, done); err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}

// end waits until a Job is over.
func (s *subject) end(t *testing.T, job *batchv1.Job) (e ending) {
	t.Helper()
	poll(t, "the end of Job "+job.Name, func(ctx context.Context) (bool, error) {
		seen, err := s.client.BatchV1().Jobs(s.object.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
		if err != nil {
			return false, ignoreOutage(err)
		}
		for _, c := range seen.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				e.condition = string(c.Type)
				if c.Type == batchv1.JobFailed {
					e.condition = c.Reason
				}
				return true, nil
			}
		}
		return false, nil
	})
	e.exit = -1
	for _, pod := range s.pods.of(job.Name) {
		if state := terminated(pod); state != nil {
			e.exit, e.reason, e.document = state.ExitCode, state.Reason, state.Message
		}
	}
	// A message that is no result is the kubelet's, about a container that never ran.
	e.result, _ = result.Decode([]byte(e.document))
	return e
}

// ignoreOutage passes over what an API server that restarts answers, or does not.
func ignoreOutage(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return err
	}
	return nil
}

// look judges the lock as a controller would, between two Jobs.
func (s *subject) look(t *testing.T) lock.Finding {
	t.Helper()
	phase := func(ctx context.Context, name string) (lock.PodPhase, error) {
		pod, err := s.client.CoreV1().Pods(s.object.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return lock.PodPhase(pod.Status.Phase), nil
	}
	owns := func(pod string) bool { return naming.OwnsPod(s.object, pod) }
	found, err := lock.Check(t.Context(), s.client.CoordinationV1().Leases(s.object.Namespace), naming.LockLease(s.suffix), owns, phase)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// run runs an operation to its end. A stale lock is handed down.
func (s *subject) run(t *testing.T, op naming.Op, changes ...func(*batchv1.Job)) ending {
	t.Helper()
	if found := s.look(t); found.Verdict == lock.Stale {
		changes = append(changes, func(job *batchv1.Job) { setFlag(job, "--force-unlock="+found.Lock.ID()) })
	}
	return s.end(t, s.start(t, s.job(t, op, changes...)))
}

// logs are those of a Job's pods that are still there.
func (s *subject) logs(t *testing.T) string {
	out, _ := tryKubectl(t, "-n", s.object.Namespace, "get", "pods,events")
	for name, pod := range s.pods.all() {
		text, _ := tryKubectl(t, "-n", s.object.Namespace, "logs", name)
		out += fmt.Sprintf("\n--- %s %s\n%s", name, pod.Status.Phase, text)
	}
	if ledger, err := os.ReadFile(s.data + "/ledger"); err == nil {
		out += "\n--- ledger\n" + string(ledger)
	}
	return out
}
