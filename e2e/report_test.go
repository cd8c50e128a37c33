package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// clusterFixture makes a fixture on the real API server.
func clusterFixture(t *testing.T, runtime tools.Runtime) (*fixture, *kubernetes) {
	t.Helper()
	f := newFixture(t, runtime, backends["kubernetes"])
	return f, f.backend.(*kubernetes)
}

func TestEvents(t *testing.T) {
	f, k := clusterFixture(t, tools.Runtimes(t)[0])
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "the-object"}}
	client := k.server.Clientset().CoreV1()
	about, err := client.ConfigMaps(k.object.Namespace).Create(t.Context(), about, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object := fmt.Sprintf("v1/ConfigMap/%s/%s/%s", about.Namespace, about.Name, about.UID)
	f.must(t, 0, "apply", "--event-object", object, "--job-name", "captf-c-x-apply-a1-abcdef")
	f.write(t, "fail_override.tf", failingSecond)
	f.variables(t, map[string]string{"content": `"two"`, "second": "false"})
	f.must(t, 0, "apply", "--event-object", object)
	f.variables(t, nil)
	f.must(t, 1, "apply", "--event-object", object)

	list, err := client.Events(k.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range list.Items {
		count[e.Type+" "+e.Reason]++
		if e.InvolvedObject.UID != about.UID || e.Source.Component != "captf-runner" {
			t.Errorf("event about %+v from %+v", e.InvolvedObject, e.Source)
		}
		if strings.Contains(e.Message, "hunter2-hunter2") {
			t.Errorf("a secret in the event %q", e.Message)
		}
	}
	for reason, want := range map[string]int{
		"Normal RunStarted": 3, "Normal StepStarted": 6, "Normal StepSucceeded": 5, "Warning StepFailed": 1,
		"Normal RunFinished": 2, "Warning RunFinished": 1,
	} {
		if count[reason] != want {
			t.Errorf("%d events %s, want %d (all: %v)", count[reason], reason, want, count)
		}
	}
}

// Events never fail a run: not when they are forbidden, nor when the object is nonsense to the server.
func TestEventsThatCannotBeSent(t *testing.T) {
	f, k := clusterFixture(t, tools.Runtimes(t)[0])
	o := f.must(t, 0, "refresh", "--event-object", "v1/ConfigMap/"+k.object.Namespace+"-other/x/uid")
	if o.result.Error != nil {
		t.Errorf("error = %+v", o.result.Error)
	}
}

const manyFailing = manyFiles + `  fail  = "create"
}`

// A result that does not fit is kept whole in a ConfigMap, and the short one names it.
func TestOverflow(t *testing.T) {
	f, k := clusterFixture(t, tools.Runtimes(t)[0])
	f.write(t, "main.tf", manyFailing)
	o := f.must(t, 1, "apply", "--job-name", "the-job", "--job-uid", jobUID)
	if len(o.raw) > result.MaxSize || o.result.Document != "the-job-result" {
		t.Fatalf("%d bytes, document %q\n%s", len(o.raw), o.result.Document, o)
	}
	cm, err := k.server.Clientset().CoreV1().ConfigMaps(k.object.Namespace).Get(t.Context(), o.result.Document, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].Name != "the-job" {
		t.Errorf("owners = %+v, want the Job", cm.OwnerReferences)
	}
	whole, err := result.Decode([]byte(cm.Data["result.json"]))
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Error.Resources) <= len(o.result.Error.Resources) {
		t.Errorf("the whole result names %d resources, the short one %d", len(whole.Error.Resources), len(o.result.Error.Resources))
	}
	// A pod that is started again keeps its own beside it.
	if again := f.must(t, 1, "apply", "--job-name", "the-job", "--job-uid", jobUID); !strings.HasPrefix(again.result.Document, "the-job-result-") {
		t.Errorf("the document of a second pod is %q", again.result.Document)
	}
	// A stream gets one document.
	o = f.run(t, "apply", "--job-name", "other-job", "--job-uid", jobUID, "--result", "/dev/stdout")
	if strings.Count(o.stdout, `{"version":1,`) != 1 || !strings.Contains(o.stdout, `"document":"other-job-result"`) {
		t.Errorf("the stream got another result\n%s", o)
	}
	// Without its UID nothing would ever remove it.
	if o := f.must(t, 1, "apply", "--job-name", "the-job"); o.result.Document != "" {
		t.Errorf("a document without an owner: %q", o.result.Document)
	}
}

// A run that is told to stop leaves its result in a ConfigMap as well: a Job's deadline deletes the pod, and the
// termination message with it.
func TestResultOfStoppedRun(t *testing.T) {
	f, k := clusterFixture(t, tools.Runtimes(t)[0])
	f.slow(t, "1s", true)
	l := f.start(t, "apply", "--job-name", "the-job", "--job-uid", jobUID)
	l.says(t, creatingFirst)
	l.signal(t, syscall.SIGTERM)
	o := l.finish(t)
	wantInterrupted(t, o, "apply")
	cm, err := k.server.Clientset().CoreV1().ConfigMaps(k.object.Namespace).Get(t.Context(), "the-job-result", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := result.Decode([]byte(cm.Data["result.json"]))
	if err != nil || whole.Partial {
		t.Fatalf("the result in the ConfigMap: %v, %+v", err, whole)
	}
	whole.Document = o.result.Document
	if diff := cmp.Diff(o.result, whole); diff != "" || whole.Document != cm.Name {
		t.Errorf("the result in the ConfigMap is another one, or the short one does not name it (-short +whole)\n%s", diff)
	}
}
