package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestEventsOfEveryStep has the steps that are no ordinary ones: each of them is told of, too.
func TestEventsOfEveryStep(t *testing.T) {
	t.Parallel()
	f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
	k.aboutConfigMap(t)
	about := func() []string {
		return []string{"--event-object", "v1/ConfigMap/" + k.object.Namespace + "/the-object/uid"}
	}
	f.must(t, 0, "refresh")
	k.hold(t, staleID, "runner@gone")
	f.must(t, 0, "plan", append(about(), "--force-unlock", staleID, "--plan-key-file", f.planKey(t))...)
	for _, step := range []string{"init", "force-unlock", "plan", "show-json"} {
		k.wantEvents(t, step, "StepStarted", "StepSucceeded")
	}

	h.harms(when(func(r *http.Request) bool { return k.writesSecret(r) }, denied))
	f.must(t, result.ExitPerson, "apply", append(about(), "--lock-timeout", "0")...)
	k.wantEvents(t, "state-push", "StepStarted", "StepFailed")
	k.wantEvents(t, "apply", "StepStarted", "StepFailed")
}

// TestEventsOfLockedStep has a runtime that fails at the lock at once, and is started again until the time for the
// lock is up: that is one step, and it failed.
func TestEventsOfLockedStep(t *testing.T) {
	t.Parallel()
	f, k := clusterFixture(t, tools.Runtimes(t)[0])
	f.stub(t, `case $1 in
apply) `+refused()+` ;;
version) echo '{"terraform_version": "1.12.6"}' ;;
esac
`)
	o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "3", "--event-object", k.aboutConfigMap(t))
	if last := o.result.Steps[len(o.result.Steps)-1]; last.Attempts < 2 {
		t.Errorf("last step = %+v, want several attempts", last)
	}
	k.wantEvents(t, "apply", "StepStarted", "StepFailed")
}

// wantEvents looks for the events about one step.
func (k *kubernetes) wantEvents(t *testing.T, step string, reasons ...string) {
	t.Helper()
	events, err := k.server.Clientset().CoreV1().Events(k.object.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events.Items {
		if strings.HasPrefix(e.Reason, "Step") && (e.Message == step || strings.HasPrefix(e.Message, step+":")) {
			got = append(got, e.Reason)
		}
	}
	slices.Sort(got)
	slices.Sort(reasons)
	if !slices.Equal(got, reasons) {
		t.Errorf("events about %s: %v, want %v", step, got, reasons)
	}
}
