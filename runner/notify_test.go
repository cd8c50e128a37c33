package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/runtime"
)

// The progress of a step is a line of the log and an event; no event holds a secret, such as the key of a for_each.
func TestProgressIsTold(t *testing.T) {
	var out bytes.Buffer
	secrets := redact.New()
	secrets.Add(hidden)
	n := &notifier{queue: make(chan kube.Event, 2)}
	r := &run{redact: secrets, notifier: n, console: &console{out: &out, redact: secrets}}
	r.tellOnce("")
	r.tellOnce("1 of 2 done, 1 running (a[" + hidden + "] 1s)")
	r.warn("StepFailed", "no "+hidden)
	close(n.queue)
	const want = "1 of 2 done, 1 running (a[(sensitive)] 1s)"
	if out.String() != want+"\n" {
		t.Errorf("the log has %q, want %q", out.String(), want)
	}
	if e := <-n.queue; e.Reason != "Progress" || e.Type != "Normal" || e.Message != want {
		t.Errorf("event = %s %s %q, want Normal Progress %q", e.Type, e.Reason, e.Message, want)
	}
	if e := <-n.queue; e.Reason != "StepFailed" || e.Type != "Warning" || e.Message != "no (sensitive)" {
		t.Errorf("event = %s %s %q, want a Warning without the secret", e.Type, e.Reason, e.Message)
	}
	if e, more := <-n.queue; more {
		t.Errorf("another event: %s %q", e.Reason, e.Message)
	}
}

// An event whose text is too long would be refused: it is cut, between two characters.
func TestLongEventText(t *testing.T) {
	n := &notifier{queue: make(chan kube.Event, 1)}
	text := strings.Repeat("é", 4000)
	n.add("Warning", "StepFailed", text)
	message := (<-n.queue).Message
	if len(message) > 1024 || len(message) < 900 || !utf8.ValidString(message) || !strings.HasPrefix(message, text[:800]) {
		t.Errorf("%d bytes are sent, want the first of at most 1024: %q", len(message), message)
	}
}

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
	if got := len(n.queue); got < eventQueue-1 { // one may be on its way
		t.Errorf("%d events are queued, want %d", got, eventQueue)
	}
	start := time.Now()
	n.close(eventDrain)
	if took := time.Since(start); took > 2*eventDrain {
		t.Errorf("the end of the run waits %s for events, want %s", took, eventDrain)
	}
}

// What is queued at the end is sent within the stop budget, when there is one that counts.
func TestDrainTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ budget, used, want time.Duration }{
			{time.Minute, 0, eventDrain},
			{time.Minute, 50 * time.Second, eventDrain},
			{8 * time.Second, 7 * time.Second, time.Second / 4},
			{8 * time.Second, 8 * time.Second, 0},
			{0, time.Second, 0},
		} {
			stop := runtime.NewStop(tt.budget)
			if got := drainTime(stop); got != eventDrain {
				t.Errorf("%s without a stop", got)
			}
			stop.Request(errors.New("test"))
			time.Sleep(tt.used)
			if got := drainTime(stop); got != tt.want {
				t.Errorf("budget %s, used %s: %s, want %s", tt.budget, tt.used, got, tt.want)
			}
		}
	})
}

// An event whose answer never comes costs that event: the next ones are sent.
func TestLostEvent(t *testing.T) {
	t.Parallel()
	reasons := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e kube.Event
		if json.NewDecoder(r.Body).Decode(&e) == nil {
			reasons <- e.Reason
		}
		if e.Reason == "StepStarted" {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	client, err := kube.New(kube.Config{Host: server.URL, Namespace: "n", Timeout: time.Hour}) // not what ends the request
	if err != nil {
		t.Fatal(err)
	}
	n, err := startNotifier(&cluster{client: client}, "v1/ConfigMap/n/x/uid", "job")
	if err != nil {
		t.Fatal(err)
	}
	defer n.close(0)
	n.add("Normal", "StepStarted", "apply")
	n.add("Normal", "StepSucceeded", "apply")
	for _, want := range []string{"StepStarted", "StepSucceeded"} {
		select {
		case got := <-reasons:
			if got != want {
				t.Errorf("event %s was sent, want %s", got, want)
			}
		case <-time.After(20 * eventTimeout):
			t.Fatalf("event %s was not sent", want)
		}
	}
}
