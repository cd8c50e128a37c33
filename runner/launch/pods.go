package launch

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// addPods gives the runs that are not booked their pods, and what those tell. One request, and none when all is booked.
func (c Clients) addPods(ctx context.Context, o naming.Object, runs []Run) error {
	byJob := map[string]*Run{}
	for i := range runs {
		if !runs[i].Booked {
			byJob[runs[i].Name] = &runs[i]
		}
	}
	if len(byJob) == 0 {
		return nil
	}
	selected, err := selector(o, LabelOp)
	if err != nil {
		return err
	}
	list, err := c.Pods.List(ctx, metav1.ListOptions{LabelSelector: selected})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", o, err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if r := byJob[pod.Labels[batchv1.JobNameLabel]]; r != nil && pod.Labels[batchv1.ControllerUidLabel] == string(r.UID) {
			r.add(pod)
		}
	}
	return nil
}

// add is for the pods of one Job in any order: the one that was made last tells how the run ended.
func (r *Run) add(pod *corev1.Pod) {
	p := Pod{Name: pod.Name, Ended: podEnded(pod)}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			p.Waiting, p.Message = w.Reason, w.Message
		}
	}
	r.Pods = append(r.Pods, p)
	e := &r.evidence
	if e.PodThere && pod.CreationTimestamp.Before(&r.lastPod) {
		return
	}
	r.lastPod = pod.CreationTimestamp
	e.PodThere, e.Pod, e.Source = true, pod.Name, SourcePod
	e.ExitCode, e.OOMKilled, e.NodeLost, e.Document = nil, false, false, nil
	e.Disrupted = e.Disrupted || disrupted(pod)
	e.readContainers(pod)
}

// readContainers takes the exit code and the result from the runner's container. Of one that never started only the
// init container can tell.
func (e *Evidence) readContainers(pod *corev1.Pod) {
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		t := s.State.Terminated
		if t == nil {
			continue
		}
		e.OOMKilled = e.OOMKilled || t.Reason == "OOMKilled"
		e.NodeLost = e.NodeLost || t.Reason == "Unknown" || t.Reason == "ContainerStatusUnknown" // containerd says so, or the kubelet
		if s.Name == RunnerContainer {
			e.ExitCode, e.Document = new(int(t.ExitCode)), []byte(t.Message)
		} else if t.ExitCode != 0 {
			e.Message = fmt.Sprintf("container %s of pod %s ended with exit code %d: %s %s", s.Name, pod.Name, t.ExitCode, t.Reason, t.Message)
		}
	}
}

func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func disrupted(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// Phase reads a pod. It is a lock.Pods.
func (c Clients) Phase(ctx context.Context, name string) (lock.PodPhase, error) {
	pod, err := c.Pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return lock.PodPhase(pod.Status.Phase), nil
}

// Holder reads the Job that a lease names, and whether a pod of it runs. It is a lease.Jobs.
func (c Clients) Holder(ctx context.Context, name string) (lease.Job, error) {
	var known lease.Job
	if len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsValidLabelValue(name)) > 0 {
		return known, nil // somebody wrote it by hand: there cannot be such a Job, and the server would refuse to look for it
	}
	job, err := c.Jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		known.Exists, known.Suspended = true, job.Spec.Suspend != nil && *job.Spec.Suspend
		known.Finished, _ = finishedAt(job)
		if started := job.Status.StartTime; started != nil {
			known.StartedAt = started.Time
		}
	case !absent.Is(err):
		return known, err
	}
	list, err := c.Pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
	if err != nil {
		return known, err
	}
	for i := range list.Items {
		known.PodRuns = known.PodRuns || !podEnded(&list.Items[i])
	}
	return known, nil
}
