//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/result"
)

// deaths are pods that go away.
func deaths() []fault {
	deleted := func(options metav1.DeleteOptions) func(*testing.T, *subject, *batchv1.Job) {
		return func(t *testing.T, s *subject, job *batchv1.Job) {
			s.awaitSecond(t)
			s.deletePod(t, job, options)
		}
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	return []fault{
		{name: "none", variables: quick, ends: succeeded, locks: free},
		{name: "pod deleted", variables: slow, hit: deleted(metav1.DeleteOptions{}), ends: interrupted, locks: free},
		{
			// The kubelet still leaves the processes two seconds, and the runner may make it.
			name: "pod deleted without grace", variables: slow, hit: deleted(now), locks: freeOrStale, lost: true,
			ends: func(e ending) bool { return e.condition == "BackoffLimitExceeded" },
		},
		{
			name: "pod deleted without grace, provider deaf", variables: stubborn, hit: deleted(now), locks: stale, lost: true,
			ends: func(e ending) bool { return e.condition == "BackoffLimitExceeded" },
		},
		{
			// The pod is deleted, and its result is known from the watch alone.
			name: "activeDeadlineSeconds", variables: slower, locks: free,
			job:  deadline(12),
			ends: func(e ending) bool { return e.condition == "DeadlineExceeded" && interrupted(e) },
		},
	}
}

func deadline(seconds int64) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = &seconds }
}

// kills are processes that the kernel ends when the pod's memory is used up.
func kills() []fault {
	return []fault{
		{
			name: "runtime out of memory", variables: balloon, job: memory("300Mi"), locks: free, lost: true,
			ends: failed(result.ExitFailed, result.KindStep, result.ReasonKilled),
		},
		{
			name: "runner out of memory", variables: balloon, job: memory("300Mi"), locks: stale, lost: true,
			hit: func(t *testing.T, s *subject, job *batchv1.Job) {
				poll(t, "the lock", func(context.Context) (bool, error) { return s.look(t).Verdict == lock.Alive, nil })
				preferRunner(t, string(job.UID))
			},
			ends: func(e ending) bool {
				return e.reason == "OOMKilled" && e.exit == 137 && e.result != nil && e.result.Partial
			},
		},
	}
}

// memory gives a Job's containers so much, as requests too: then the kernel sees no difference between the processes.
func memory(size string) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		pod := &job.Spec.Template.Spec
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size), corev1.ResourceCPU: resource.MustParse("1")}
		for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range containers {
				containers[i].Resources = corev1.ResourceRequirements{Limits: limits, Requests: corev1.ResourceList{
					corev1.ResourceMemory: limits[corev1.ResourceMemory], corev1.ResourceCPU: resource.MustParse("50m"),
				}}
			}
		}
	}
}

// preferRunner has the kernel end the runner of a Job first, and not the process with the most memory. What the runner
// has started already keeps its own score.
func preferRunner(t *testing.T, uid string) {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(command, []byte("/captf/bin/captf-runner\x00")) || !strings.Contains(string(command), "--job-uid="+uid+"\x00") {
			continue
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "oom_score_adj"), []byte("1000"), 0o600); err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != 1 {
		t.Fatalf("%d runners of the Job on this machine, want one", found)
	}
}
