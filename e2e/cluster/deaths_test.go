//go:build e2e

package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/launch"
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
		{name: "pod deleted", variables: slower, hit: deleted(metav1.DeleteOptions{}), ends: interrupted, locks: free},
		{
			// The kubelet still leaves the processes two seconds, and the runner may make it: a lock that it leaves
			// is stale.
			name: "pod deleted without grace", variables: slower, hit: deleted(now), locks: freeOrStale, lost: true,
			ends: func(e ending) bool { return e.condition == string(launch.Interrupted) },
		},
		{
			name: "pod deleted without grace, provider deaf", variables: stubborn, hit: deleted(now), locks: freeOrStale, lost: true,
			ends: func(e ending) bool { return e.condition == string(launch.Interrupted) },
		},
		{
			// The Job controller deletes the pod: its result has to be known all the same.
			name: "activeDeadlineSeconds", variables: slower, locks: free,
			template: deadline(30 * time.Second),
			ends:     interrupted,
		},
	}
}

func deadline(after time.Duration) func(*launch.Template) {
	return func(t *launch.Template) { t.Deadline = after }
}

// kills are processes that the kernel ends when the pod's memory is used up.
func kills() []fault {
	return []fault{
		{
			name: "runtime out of memory", variables: balloon, template: memory("300Mi"), locks: free, lost: true,
			ends:   failed(result.ExitPerson, result.KindStep, result.ReasonKilled), // the first file is in no state
			repair: func(t *testing.T, s *subject, job string) { s.forgive(t, job) },
		},
		{
			name: "runner out of memory", variables: slower, template: filled("300Mi"), locks: stale, lost: true,
			hit: func(t *testing.T, s *subject, job *batchv1.Job) {
				s.awaitSecond(t)
				exhaust(t, preferRunner(t, job))
			},
			ends: func(e ending) bool {
				return e.reason == "OOMKilled" && e.exit == 137 && e.result != nil && e.result.Partial
			},
		},
	}
}

// memory gives a Job's runner so much.
func memory(size string) func(*launch.Template) {
	return func(t *launch.Template) {
		t.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}
	}
}

// guaranteed makes it a guaranteed pod, too: its processes have the lowest score for the kernel.
func guaranteed(pod *corev1.PodSpec, size string) {
	same := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size), corev1.ResourceCPU: resource.MustParse("400m")}
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].Resources = corev1.ResourceRequirements{Limits: same, Requests: same}
		}
	}
}

// filled gives the pod so much memory, and a folder that is memory, where files count and belong to no process.
func filled(size string) func(*launch.Template) {
	return adjusted(func(pod *corev1.PodSpec) {
		guaranteed(pod, size)
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "memory", VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
		}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "memory", MountPath: "/captf/memory"})
	})
}

// adjusted changes the pods of a template, too.
func adjusted(change func(*corev1.PodSpec)) func(*launch.Template) {
	return func(t *launch.Template) {
		before := t.Adjust
		t.Adjust = func(job *batchv1.Job) {
			before(job)
			change(&job.Spec.Template.Spec)
		}
	}
}

// preferRunner has the kernel end the runner of a Job first, and not the process with the most memory. What the runner
// has started already keeps its own score. It returns the folder of the runner's process.
func preferRunner(t *testing.T, job *batchv1.Job) (proc string) {
	t.Helper()
	if proc = runnerProcess(t, job); proc == "" {
		t.Fatal("the runner of the Job is not among the processes of this machine")
	}
	if err := os.WriteFile(filepath.Join(proc, "oom_score_adj"), []byte("1000"), 0o600); err != nil {
		t.Fatal(err)
	}
	return proc
}

// runnerProcess is the folder of the process of a Job's runner on this machine, empty when there is none. Another
// namespace may have a Job of that name.
func runnerProcess(t *testing.T, job *batchv1.Job) string {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	name, namespace := []byte("--job-name="+job.Name+"\x00"), []byte("namespace="+job.Namespace+"\x00")
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err == nil && bytes.HasPrefix(command, []byte("/captf/bin/captf-runner\x00")) && bytes.Contains(command, name) && bytes.Contains(command, namespace) {
			return filepath.Dir(path)
		}
	}
	return ""
}

// exhaust uses up the memory of a process's container, by a file that counts as the container's.
func exhaust(t *testing.T, proc string) {
	t.Helper()
	groups, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	group := "/sys/fs/cgroup"
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if fields[1] == "memory" {
			group += "/memory" + fields[2]
		} else if fields[0] == "0" && len(strings.Split(string(groups), "\n")) == 2 {
			group += fields[2] // cgroup v2
		}
	}
	fill := `echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero of="$1/root/captf/memory/fill" bs=1M count=400`
	out, err := exec.Command("sh", "-c", fill, group, proc).CombinedOutput()
	t.Logf("fill the memory of %s: %v\n%s", group, err, out)
}
