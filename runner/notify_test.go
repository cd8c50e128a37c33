package runner

import (
	"net"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/kube"
)

// An API server that takes requests and never answers costs a run the time of the drain, and no more: the queue fills,
// and what does not fit is dropped.
func TestFullEventQueue(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := kube.New(kube.Config{Host: "http://" + listener.Addr().String(), Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := startNotifier(&cluster{client: client}, "v1/ConfigMap/n/x/uid", "job")
	if err != nil {
		t.Fatal(err)
	}
	added := make(chan struct{})
	go func() {
		defer close(added)
		for range 100 * eventQueue {
			n.add("Normal", "Progress", "1 of 2 done")
		}
	}()
	select {
	case <-added:
	case <-time.After(eventTimeout): // before the first request has failed, nothing was taken out of the queue
		t.Fatal("a full queue makes a run wait")
	}
	if got := len(n.queue); got != eventQueue {
		t.Errorf("%d events are queued, want %d", got, eventQueue)
	}
	start := time.Now()
	n.close()
	if took := time.Since(start); took > 2*eventDrain {
		t.Errorf("the end of the run waits %s for events, want %s", took, eventDrain)
	}
}
