package runner

import (
	"context"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// The bounds that keep events from ever slowing or failing a run.
const (
	eventQueue   = 32              // further ones are dropped
	eventTimeout = 3 * time.Second // for one request
	eventDrain   = 2 * time.Second // for what is queued at the end of the run
	maxMessage   = 1000            // bytes; the API server refuses more than 1024
)

// notifier sends events about the object of --event-object.
type notifier struct {
	events  kube.Events
	about   kube.ObjectReference
	source  string
	queue   chan kube.Event
	drained sync.WaitGroup
	abandon context.CancelFunc
}

// parseEventObject reads <apiVersion>/<kind>/<namespace>/<name>/<uid>; an apiVersion has a slash of its own.
func parseEventObject(s string) (kube.ObjectReference, error) {
	parts := strings.Split(s, "/")
	n := len(parts)
	if n < 5 || n > 6 {
		return kube.ObjectReference{}, usagef("--event-object %q is not <apiVersion>/<kind>/<namespace>/<name>/<uid>", s)
	}
	for _, part := range parts {
		if part == "" {
			return kube.ObjectReference{}, usagef("--event-object %q has an empty part", s)
		}
	}
	return kube.ObjectReference{
		APIVersion: strings.Join(parts[:n-4], "/"), Kind: parts[n-4], Namespace: parts[n-3], Name: parts[n-2], UID: parts[n-1],
	}, nil
}

// startNotifier starts the sender; nil when there is nobody to send to.
func startNotifier(c *cluster, object string, job string) (*notifier, error) {
	if object == "" {
		return nil, nil
	}
	about, err := parseEventObject(object)
	if err != nil || c == nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &notifier{events: c.client.Events(about.Namespace), about: about, source: job, queue: make(chan kube.Event, eventQueue), abandon: cancel}
	n.drained.Go(func() { n.send(ctx) })
	return n, nil
}

func (n *notifier) send(ctx context.Context) {
	for event := range n.queue {
		one, cancel := context.WithTimeout(ctx, eventTimeout)
		_, _ = n.events.Create(one, &event, metav1.CreateOptions{}) // an event that cannot be sent is no reason for anything
		cancel()
	}
}

// drainTime is how long the run waits for what is queued at its end. Once it was told to stop that comes out of the
// stop budget, of which something is left for the end of the process.
func drainTime(stop *runtime.Stop) time.Duration {
	if stop.Cause() == nil {
		return eventDrain
	}
	return min(eventDrain, max(time.Until(stop.Deadline())/4, 0))
}

// close sends what is queued, for at most this time.
func (n *notifier) close(limit time.Duration) {
	if n == nil {
		return
	}
	close(n.queue)
	timer := time.AfterFunc(limit, n.abandon)
	defer timer.Stop()
	n.drained.Wait()
}

// notify queues an event for those who watch the object.
func (r *run) notify(reason, message string) {
	r.notifier.add("Normal", reason, r.redact.String(message))
}

// warn is notify for what somebody should look at.
func (r *run) warn(reason, message string) {
	r.notifier.add("Warning", reason, r.redact.String(message))
}

// notifyEnd is the event about the end of a step.
func (r *run) notifyEnd(step string, err error) {
	if err == nil {
		r.notify("StepSucceeded", step)
		return
	}
	r.warn("StepFailed", step+": "+strings.TrimPrefix(err.Error(), step+": "))
}

// add never waits: when the queue is full the event is dropped.
func (n *notifier) add(kind, reason, message string) {
	if n == nil {
		return
	}
	now := metav1.Now()
	event := kube.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: n.about.Name + ".", Namespace: n.about.Namespace},
		InvolvedObject: n.about, Reason: reason, Message: result.Cut(message, maxMessage), Type: kind,
		Source: kube.EventSource{Component: "captf-runner", Host: n.source}, ReportingController: "captf-runner", ReportingInstance: n.source,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	select {
	case n.queue <- event:
	default:
	}
}
