package cli

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
)

// warn sends an event as the Job controller does.
func (t *terminal) warn(job, reason, message string) {
	t.Helper()
	e := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "e-"},
		InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: job, Namespace: t.namespace},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message,
	}
	if _, err := t.client.CoreV1().Events(t.namespace).Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// passes waits until a pass has looked at all that is there.
func (t *terminal) passes(job string) {
	t.Helper()
	for range 2 { // the pass that shows the first one may have looked at the pods before
		t.fences++
		text := fmt.Sprintf("fence %d", t.fences)
		t.warn(job, "Fence", text)
		t.awaitText(text)
	}
}

// What keeps a Job from starting is tried again and again, and told once: a quota that refuses one pod after the
// other, an image whose pull fails, is backed off from, and fails. The pod here has no node, which gives it an empty
// log.
func TestRepeatedNewsAreToldOnce(t *testing.T) {
	term := setUp(t)
	ended := term.begin(term.args("apply")...)
	job := term.job()
	const refusal = "is forbidden: exceeded quota: pods"
	for _, suffix := range []string{"x1y2z", "9abcd"} {
		term.warn(job, "FailedCreate", fmt.Sprintf("Error creating: pods %q %s", job+"-"+suffix, refusal))
	}
	pods := term.client.CoreV1().Pods(term.namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: job + "-x1y2z", Labels: podLabels(term.jobs()[0])},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "module"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull"} {
		waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "no such image"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "runner", State: waiting}}
		if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		term.passes(job)
	}
	if err := pods.Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	term.end(jobtest.End{NoPod: true, Condition: batchv1.JobReasonDeadlineExceeded})
	term.code(ended, 3)
	term.says(term.err, "what kept it from its work: pod "+pod.Name+": ErrImagePull: no such image")
	for _, text := range []string{refusal, "waits: ErrImagePull no such image", "waits: ImagePullBackOff no such image"} {
		if n := strings.Count(term.err.String(), text); n != 1 {
			t.Errorf("%q is told %d times:\n%s", text, n, term.err)
		}
	}
}

// podLabels are those that the Job controller gives to the pods of a Job.
func podLabels(job batchv1.Job) map[string]string {
	labels := map[string]string{batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: string(job.UID)}
	for key, value := range job.Spec.Template.Labels {
		labels[key] = value
	}
	return labels
}
