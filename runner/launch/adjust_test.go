package launch

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// What a pass goes by stays, whatever a hook does; each of these would lose a result, start a second pod or leave a lock.
func TestAdjustRefused(t *testing.T) {
	pod := func(change func(*corev1.PodSpec)) func(*batchv1.Job) {
		return func(j *batchv1.Job) { change(&j.Spec.Template.Spec) }
	}
	runner := func(change func(*corev1.Container)) func(*batchv1.Job) {
		return pod(func(p *corev1.PodSpec) { change(&p.Containers[0]) })
	}
	tests := map[string]struct {
		change func(*batchv1.Job)
		says   string
	}{
		"name":                 {func(j *batchv1.Job) { j.Name = "x" }, "the Job's name"},
		"namespace":            {func(j *batchv1.Job) { j.Namespace = "x" }, "the Job's name"},
		"owner":                {func(j *batchv1.Job) { j.OwnerReferences = nil }, "owners"},
		"label":                {func(j *batchv1.Job) { j.Labels[LabelOp] = "plan" }, "labels of the Job"},
		"all labels":           {func(j *batchv1.Job) { j.Labels = nil }, "labels of the Job"},
		"annotation":           {func(j *batchv1.Job) { delete(j.Annotations, AnnotationLockVersion) }, "annotations of the Job"},
		"pod label":            {func(j *batchv1.Job) { delete(j.Spec.Template.Labels, LabelOp) }, "labels of the pod"},
		"more attempts":        {func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(3)) }, "the Job's spec"},
		"more pods":            {func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) }, "the Job's spec"},
		"removed by itself":    {func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(0)) }, "the Job's spec"},
		"another deadline":     {func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(5)) }, "the Job's spec"},
		"other failures":       {func(j *batchv1.Job) { j.Spec.PodFailurePolicy = nil }, "the Job's spec"},
		"restarts":             {pod(func(p *corev1.PodSpec) { p.RestartPolicy = corev1.RestartPolicyOnFailure }), "restartPolicy"},
		"less grace":           {pod(func(p *corev1.PodSpec) { p.TerminationGracePeriodSeconds = new(int64(1)) }), "terminationGracePeriodSeconds"},
		"the node's name":      {pod(func(p *corev1.PodSpec) { p.HostNetwork = true }), "host name"},
		"another name":         {pod(func(p *corev1.PodSpec) { p.Hostname = "x" }), "host name"},
		"a long name":          {pod(func(p *corev1.PodSpec) { p.SetHostnameAsFQDN = new(true) }), "host name"},
		"an overriding name":   {pod(func(p *corev1.PodSpec) { p.HostnameOverride = new("x") }), "host name"},
		"no runner":            {pod(func(p *corev1.PodSpec) { p.Containers[0].Name = "x" }), "of container runner"},
		"command":              {runner(func(c *corev1.Container) { c.Command = []string{"sh"} }), "command or arguments"},
		"arguments":            {runner(func(c *corev1.Container) { c.Args = append(c.Args, "--debug") }), "command or arguments"},
		"message from the log": {runner(func(c *corev1.Container) { c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError }), "termination message"},
		"message elsewhere":    {runner(func(c *corev1.Container) { c.TerminationMessagePath = "/tmp/x" }), "termination message"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewJob(order(t, naming.Apply, func(o *Order) { o.Template.Adjust = tt.change }))
			if err == nil || !strings.Contains(err.Error(), "Adjust changed") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got error %v, want one with %q", err, tt.says)
			}
		})
	}
}

// What is meant for a hook is taken, also when it comes before what is there.
func TestAdjust(t *testing.T) {
	job, err := NewJob(order(t, naming.Apply, func(o *Order) {
		o.Template.Adjust = func(j *batchv1.Job) {
			j.Labels["team"], j.Annotations["team"], j.Spec.Template.Labels["team"] = "a", "a", "a"
			j.Spec.Template.Annotations = map[string]string{"sidecar": "no"}
			j.Spec.Suspend = new(true)
			pod := &j.Spec.Template.Spec
			pod.NodeSelector = map[string]string{"disk": "fast"}
			pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "A", Value: "b"})
			pod.Containers = append([]corev1.Container{{Name: "proxy"}}, pod.Containers...)
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "more"})
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if c := job.Spec.Template.Spec.Containers; c[0].Name != "proxy" || job.Labels["team"] != "a" || !*job.Spec.Suspend {
		t.Errorf("the changes are not there: %+v", job)
	}
}

// A pass refuses such a template, and takes nothing first.
func TestPassRefusesAdjust(t *testing.T) {
	f := setUp(t)
	f.object.template.Adjust = func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(60)) }
	f.expect(Refuse, ReasonInvalidTemplate)
	if d, job, err := f.launcher.Preview(t.Context(), f.object); d.Reason != ReasonInvalidTemplate || job != nil || err != nil {
		t.Errorf("preview: %+v, job %v, error %v", d, job, err)
	}
	if list, err := f.client.BatchV1().Jobs(f.object.id.Namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("jobs %v, error %v", list.Items, err)
	}
	if got := f.leases(""); len(got) > 0 {
		t.Errorf("leases were taken: %v", got)
	}
}
