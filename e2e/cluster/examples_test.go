//go:build e2e

package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// exampleObject is whose state the examples are of, in the namespace that docs/kubernetes.md makes.
var exampleObject = naming.Object{Kind: naming.Cluster, Namespace: "demo", Name: "demo", Cluster: "demo"}

// TestExamples goes through deploy/examples as its reader does, with kubectl and no controller, in a namespace that
// allows restricted pods only. The one thing that differs is the image, for the second runtime.
func TestExamples(t *testing.T) {
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, runtime)
			kubectl(t, "-n", s.object.Namespace, "apply", "-f", deploy(t, "examples", "root.yaml"))
			kubectl(t, "-n", s.object.Namespace, "create", "secret", "generic", "captf-plan-key", "--from-literal=key="+strings.Repeat("0123456789abcdef", 4))
			s.life(t)
			s.nightly(t)
			s.wantEvents(t, "demo-apply", "RunFinished")
		})
	}
}

// life is the operations in the order in which an object sees them. The backup is taken after the apply.
func (s *subject) life(t *testing.T) {
	created := func(r *result.Result) bool {
		return r.Plan != nil && r.Plan.Create == 1 && strings.HasPrefix(r.Plan.Hash, "p2:")
	}
	noDrift := func(r *result.Result) bool { return r.Drift != nil && !r.Drift.Detected }
	for _, step := range []struct {
		op    string
		check func(r *result.Result) bool
	}{
		{"plan", created},
		{"apply", func(r *result.Result) bool { return cmp.Equal(r.Changes, &result.Changes{Add: 1}) }},
		{"drift", noDrift},
		{"refresh", func(*result.Result) bool { return true }},
		{"destroy", func(r *result.Result) bool { return cmp.Equal(r.Changes, &result.Changes{Destroy: 1}) }},
		{"restore", func(*result.Result) bool { return true }},
	} {
		e := s.example(t, step.op)
		if !succeeded(e) || !step.check(e.result) {
			t.Fatalf("%s ended so: %s\n%s", step.op, e, s.logs(t))
		}
		if step.op == "apply" {
			s.backup(t)
		}
	}
}

// example applies the file of an operation and waits for its Job.
func (s *subject) example(t *testing.T, op string) ending {
	t.Helper()
	job := exampleJob(t, op)
	job.Namespace = s.object.Namespace
	s.useRuntime(&job.Spec.Template.Spec)
	s.apply(t, job)
	return s.end(t, job)
}

// useRuntime changes the image to that of the subject's runtime.
func (s *subject) useRuntime(pod *corev1.PodSpec) {
	pod.Containers[0].Image = strings.Replace(pod.Containers[0].Image, "opentofu", s.runtime, 1)
}

// apply does what `kubectl apply -f` does.
func (s *subject) apply(t *testing.T, object any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	kubectlIn(t, string(text), "-n", s.object.Namespace, "apply", "-f", "-")
}

// backup copies the state as the comment in restore.yaml says. The state has the labels by which captf finds it.
func (s *subject) backup(t *testing.T) {
	t.Helper()
	secrets := s.client.CoreV1().Secrets(s.object.Namespace)
	state, err := secrets.Get(t.Context(), naming.StateSecret(naming.Suffix(exampleObject), 0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := naming.Labels(exampleObject)
	if diff := cmp.Diff(naming.BackendSelector(naming.Suffix(exampleObject), labels), state.Labels); err != nil || diff != "" {
		t.Errorf("labels of the state, error %v (-want +got):\n%s", err, diff)
	}
	backup := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-backup"}, Data: map[string][]byte{"tfstate": state.Data["tfstate"]}}
	if _, err := secrets.Create(t.Context(), backup, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// nightly starts the CronJob's Job by hand.
func (s *subject) nightly(t *testing.T) {
	t.Helper()
	kubectl(t, "-n", s.object.Namespace, "apply", "-f", deploy(t, "examples", "drift-cronjob.yaml"))
	cron, err := s.client.BatchV1().CronJobs(s.object.Namespace).Get(t.Context(), "demo-drift", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "demo-drift-by-hand"}, Spec: cron.Spec.JobTemplate.Spec}
	s.useRuntime(&job.Spec.Template.Spec)
	if e := s.end(t, s.start(t, job)); !succeeded(e) || e.result.Drift == nil || e.result.Drift.Detected {
		t.Fatalf("the drift check of the CronJob ended so: %s\n%s", e, s.logs(t))
	}
}

func (s *subject) wantEvents(t *testing.T, job, reason string) {
	t.Helper()
	events, err := s.client.CoreV1().Events(s.object.Namespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Job,involvedObject.name=" + job + ",reason=" + reason,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(events.Items) == 0 {
		t.Errorf("no event %s about Job %s", reason, job)
	}
}

// TestExamplesAreOne compares the pods of the examples: they differ in their operation, and in what that operation needs.
func TestExamplesAreOne(t *testing.T) {
	want := exampleJob(t, "apply")
	own := map[string]func(pod *corev1.PodSpec){
		"plan": func(pod *corev1.PodSpec) {
			c := &pod.Containers[0]
			c.Args, c.VolumeMounts = c.Args[:len(c.Args)-1], c.VolumeMounts[:len(c.VolumeMounts)-1]
			pod.Volumes = pod.Volumes[:len(pod.Volumes)-1]
		},
		"restore": func(pod *corev1.PodSpec) {
			c := &pod.Containers[0]
			c.Args = c.Args[:len(c.Args)-2]
			pod.Volumes[len(pod.Volumes)-1] = want.Spec.Template.Spec.Volumes[len(pod.Volumes)-1]
		},
	}
	for _, op := range []string{"plan", "refresh", "drift", "destroy", "restore"} {
		job := exampleJob(t, op)
		if job.Name != "demo-"+op {
			t.Errorf("%s.yaml has Job %s", op, job.Name)
		}
		if change := own[op]; change != nil {
			change(&job.Spec.Template.Spec)
		}
		setFlag(job, "--op=apply")
		if diff := cmp.Diff(want.Spec, job.Spec); diff != "" {
			t.Errorf("apply.yaml and %s.yaml (-apply +%s):\n%s", op, op, diff)
		}
	}
}

// TestExampleState has the examples say what captf says of the same object, or it would not find their state.
func TestExampleState(t *testing.T) {
	want, err := naming.BackendConfig(exampleObject)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = "--backend-config=" + strings.Replace(want[i], "namespace=demo", "namespace=$(NAMESPACE)", 1)
	}
	var nightly batchv1.CronJob
	readExample(t, "drift-cronjob", &nightly)
	specs := map[string]batchv1.JobSpec{"drift-cronjob": nightly.Spec.JobTemplate.Spec}
	for _, op := range naming.Ops() {
		specs[string(op)] = exampleJob(t, string(op)).Spec
	}
	for name, spec := range specs {
		got := slices.DeleteFunc(spec.Template.Spec.Containers[0].Args, func(arg string) bool { return !strings.HasPrefix(arg, "--backend-config=") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s.yaml (-captf +example):\n%s", name, diff)
		}
	}
}
