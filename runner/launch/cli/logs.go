package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/launch"
)

// podLog copies the log of one pod at a time. A connection that breaks is made again, and what was shown is passed over.
type podLog struct {
	pods typedcorev1.PodInterface
	out  io.Writer

	pod    string
	lines  int // that were shown
	ended  chan struct{}
	cancel context.CancelFunc
	mu     sync.Mutex
}

// follow makes sure that the log of the run's newest pod is shown, and reports whether it has a line. That of a pod that
// has no node yet can be had, and is empty.
func (l *podLog) follow(ctx context.Context, run launch.Run) bool {
	if len(run.Pods) == 0 {
		return false
	}
	l.open(ctx, run.Pods[len(run.Pods)-1].Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines > 0
}

func (l *podLog) open(ctx context.Context, pod string) {
	if l.pod == pod && l.running() {
		return
	}
	if l.pod != pod {
		l.stop()
		l.pod, l.lines = pod, 0
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := l.get(ctx, pod, true)
	if err != nil {
		cancel()
		return // its container has not started
	}
	ended := make(chan struct{})
	l.cancel, l.ended = cancel, ended
	go func() {
		defer close(ended)
		defer cancel()
		l.copy(stream)
	}()
}

func (l *podLog) running() bool {
	if l.ended == nil {
		return false
	}
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

func (l *podLog) get(ctx context.Context, pod string, follow bool) (io.ReadCloser, error) {
	return l.pods.GetLogs(pod, &corev1.PodLogOptions{Container: launch.RunnerContainer, Follow: follow}).Stream(ctx)
}

// copy shows what was not shown before. A line may have any length; nothing in it moves the terminal's cursor.
func (l *podLog) copy(stream io.ReadCloser) {
	defer stream.Close()
	r := bufio.NewReader(stream)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if line != "" && (err == nil || err == io.EOF) {
			l.show(n, line)
		}
		if err != nil {
			return
		}
	}
}

func (l *podLog) show(n int, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n <= l.lines {
		return
	}
	l.lines = n
	if line[len(line)-1] == '\n' {
		line = line[:len(line)-1]
	}
	fmt.Fprintln(l.out, table.Printable(line))
}

// drainTime is for the end of a log. That of a pod whose node is gone may never come.
const drainTime = time.Minute

// drain shows the rest of the log of a run that has ended, while its pod is there.
func (l *podLog) drain(ctx context.Context, run launch.Run) {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if l.running() {
		select {
		case <-l.ended: // the container has ended, and so does its log
		case <-ctx.Done():
			l.stop()
			return
		}
	}
	if run.Outcome == nil || run.Outcome.Pod == "" {
		return
	}
	if l.pod != run.Outcome.Pod {
		l.pod, l.lines = run.Outcome.Pod, 0
	}
	if stream, err := l.get(ctx, l.pod, false); err == nil {
		l.copy(stream)
	}
}

func (l *podLog) stop() {
	if l.cancel != nil {
		l.cancel()
		<-l.ended
	}
	l.cancel, l.ended = nil, nil
}

// warnings tell what keeps a Job from having a log: a quota, an image, a volume. Without the right to list events there
// are none.
func (f *follower) warnings(ctx context.Context, run launch.Run) (lines []string) {
	names := []string{run.Name}
	for _, p := range run.Pods {
		names = append(names, p.Name)
	}
	for _, name := range names {
		selector := fields.Set{"involvedObject.name": name, "type": corev1.EventTypeWarning}.AsSelector().String()
		list, err := f.client.CoreV1().Events(f.object.Identity().Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			return lines
		}
		for _, e := range list.Items {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", name, e.Reason, e.Message))
		}
	}
	return lines
}
