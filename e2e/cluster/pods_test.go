//go:build e2e

package cluster

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

// podLog keeps the last that was seen of each pod of a namespace: a pod that is deleted takes its result with it.
type podLog struct {
	mu   sync.Mutex
	pods map[string]*corev1.Pod
}

func watchPods(t *testing.T, pods typed.PodInterface) *podLog {
	l := &podLog{pods: map[string]*corev1.Pod{}}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	t.Cleanup(func() { stop(); done.Wait() })
	done.Go(func() {
		for ctx.Err() == nil {
			l.follow(ctx, pods)
			select { // the API server is away, or ended the watch
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return l
}

// follow keeps what is there, and then what changes, until the watch ends.
func (l *podLog) follow(ctx context.Context, pods typed.PodInterface) {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		l.keep(&list.Items[i])
	}
	events, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			l.keep(pod)
		}
	}
}

func (l *podLog) keep(pod *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pods[pod.Name] = pod
}

func (l *podLog) all() map[string]*corev1.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.pods)
}

// of returns the pods of a Job.
func (l *podLog) of(job string) (pods []*corev1.Pod) {
	for _, pod := range l.all() {
		if pod.Labels["batch.kubernetes.io/job-name"] == job {
			pods = append(pods, pod)
		}
	}
	return pods
}

// terminated is how the runner's container of a pod ended, nil when it has not.
func terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == "runner" {
			return status.State.Terminated
		}
	}
	return nil
}
