package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/naming"
)

// order is a Job for worker in namespace infra.
func order(t *testing.T, op naming.Op, change ...func(*Order)) Order {
	t.Helper()
	o := Order{
		Object: worker, Reference: corev1.ObjectReference{APIVersion: "x.io/v1", Kind: "TerraformMachine", Name: "worker", UID: "uid-1"},
		Desired:  Desired{Op: op, InputsHash: "h2:0"},
		Template: Template{Image: "registry/module:1", RunnerImage: "registry/runner:1"}, LockVersion: "12",
	}
	for _, c := range change {
		c(&o)
	}
	name, err := naming.JobName(o.Object, op, 1, o.Desired.InputsHash, o.Desired.Tick)
	if err != nil {
		t.Fatal(err)
	}
	o.Name = name
	return o
}

// The Job is compared whole, as a person would read it: UPDATE=1 writes what it is now.
func TestNewJob(t *testing.T) {
	tests := map[string]Order{
		"apply": order(t, naming.Apply, func(o *Order) {
			o.Desired.Approval = Approval{GuardDeletes: true, AllowDeletesHash: "h2:0", ExpectPlan: "p2:1"}
			o.Desired.Tick = "monday"
			o.ForceUnlock = "0f-$(HOME)"
			o.Template.VarFiles = []string{"0.tfvars"}
			o.Template.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cloud"}}}}
		}),
		"restore": order(t, naming.Restore, func(o *Order) {
			o.Reference = corev1.ObjectReference{}
			o.Chunks, o.Resources = []string{"backup-7", "backup-7-part-1"}, 12
			o.Template.PullPolicy, o.Template.PullSecrets = corev1.PullNever, []string{"registry"}
			o.Template.Deadline, o.Template.LockTimeout, o.Template.Grace = time.Minute, new(time.Duration(0)), 2*time.Minute
		}),
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := NewJob(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".yaml")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNewJobRefuses(t *testing.T) {
	template := func(change func(*Template)) Order {
		return order(t, naming.Apply, func(o *Order) { change(&o.Template) })
	}
	tests := map[string]Order{
		"image is missing":        template(func(t *Template) { t.Image = "" }),
		"runner image is missing": template(func(t *Template) { t.RunnerImage = "" }),
		"lockTimeoutSeconds 60 is not below activeDeadlineSeconds 60": template(func(t *Template) { t.Deadline, t.LockTimeout = time.Minute, new(time.Minute) }),
		"lockTimeoutSeconds 3601 is not between 0 and 3600":           template(func(t *Template) { t.Deadline, t.LockTimeout = 2*time.Hour, new(time.Hour+time.Second) }),
		"lockTimeoutSeconds -1 is not between":                        template(func(t *Template) { t.LockTimeout = new(-time.Second) }),
		"grace period of 30 seconds is not above 30":                  template(func(t *Template) { t.Grace = 30 * time.Second }),
		`runtime "pulumi" is unknown`:                                 template(func(t *Template) { t.Runtime = "pulumi" }),
		"restore has no backup":                                       order(t, naming.Restore),
		"it is not the name of a Job of infra/TerraformMachine/other": func() Order {
			o := order(t, naming.Apply)
			o.Object.Name = "other"
			return o
		}(),
	}
	for want, o := range tests {
		if _, err := NewJob(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

// The API server takes every Job, and its pod in a namespace that enforces the restricted standard. No kubelet runs
// it here.
func TestNewJobIsAccepted(t *testing.T) {
	server := kubetest.Shared(t)
	client, namespace := server.Clientset(), server.Namespace(t)
	ns, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	if _, err := client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, op := range naming.Ops() {
		job, err := NewJob(order(t, op, func(o *Order) {
			o.Object.Namespace = namespace
			o.Chunks = []string{"backup"}
		}))
		if err != nil {
			t.Fatal(err)
		}
		made, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{FieldValidation: "Strict"})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: made.Name + "-"}, Spec: made.Spec.Template.Spec}
		if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: its pod: %v", op, err)
		}
	}
}
