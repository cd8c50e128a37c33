package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

// outputs has one that must not be seen.
const outputs = `{"url":{"value":"https://x","type":"string"},"token":{"value":"s3cr3t","type":"string","sensitive":true}}`

func applied() jobtest.End {
	e := jobtest.Succeeded
	e.Message = `{"version":1,"op":"apply","error":null,"changes":{"add":2,"change":1,"destroy":0}}`
	e.Outputs = outputs
	return e
}

func TestApply(t *testing.T) {
	term := setUp(t)
	ended := term.begin(term.args("apply", "--var-file", term.write("prod.tfvars", "size = 3\n"))...)
	job := term.job()
	config, err := term.client.CoreV1().Secrets(term.namespace).Get(t.Context(), job+"-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if string(config.Data["main.tf.json"]) != "{}" || string(config.Data["var-0.tfvars"]) != "size = 3\n" {
		t.Errorf("the root is %q", config.Data)
	}
	term.end(applied())
	term.code(ended, 0)
	term.says(term.err, "job "+job+" is created", "apply succeeded: 2 added, 1 changed, 0 destroyed")
	if want := "token = (sensitive)\nurl = \"https://x\"\n"; term.out.String() != want {
		t.Errorf("printed %q, want %q", term.out, want)
	}
	if _, err := term.client.CoreV1().Secrets(term.namespace).Get(t.Context(), config.Name, metav1.GetOptions{}); err == nil {
		t.Error("the root is still there")
	}

	term.clear()
	ended = term.begin(term.args("apply", "-o", "json")...)
	term.end(applied())
	term.code(ended, 0)
	var doc ending
	if err := json.Unmarshal([]byte(term.out.String()), &doc); err != nil || doc.Outcome.Verdict != launch.Succeeded || string(doc.Outputs["url"]) != `"https://x"` {
		t.Errorf("%v: %s", err, term.out)
	}
	if diff := cmp.Diff([]string{"token"}, doc.Sensitive); diff != "" {
		t.Errorf("sensitive outputs (-want +got)\n%s", diff)
	}
	if strings.Contains(term.out.String()+term.err.String(), "s3cr3t") {
		t.Errorf("a sensitive output was shown\n%s%s", term.out, term.err)
	}
}

func TestExitCodes(t *testing.T) {
	document := func(e string) string { return `{"version":1,"op":"apply","error":` + e + `}` }
	tests := map[string]struct {
		end  jobtest.End
		code int
		says string
	}{
		"failed":  {jobtest.Failed, 1, "apply: Failed (provider): no quota"},
		"blocked": {jobtest.End{Message: document(`{"kind":"blocked","step":"plan","tail":"deletes a.b"}`), Code: 4, Condition: batchv1.JobReasonPodFailurePolicy}, 4, "apply: Blocked (blocked): deletes a.b"},
		"locked": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"locked","step":"apply","tail":"held"},"lock":{"waitedSeconds":300,"id":"id-1","who":"me@laptop","operation":"OperationTypePlan","created":"2026"}}`,
			Code:    3, Condition: batchv1.JobReasonPodFailurePolicy}, 3, "the lock id-1 is held by me@laptop for OperationTypePlan since 2026"},
		"lock is released": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"killed","step":"apply","tail":"no"},"lock":{"waitedSeconds":0,"id":"id-1","who":"me@pod","operation":"OperationTypeApply","created":"2026","released":true}}`,
			Code:    1, Condition: batchv1.JobReasonPodFailurePolicy}, 1, "the run has released its lock id-1"},
		"state is saved after all": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"Failed to save state"},"state":{"saved":"pushed","serial":2,"lineage":"l-1"}}`,
			Code:    1, Condition: batchv1.JobReasonPodFailurePolicy}, 3, "the state was saved after all"},
		"state is rescued, by somebody who is not to be trusted": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"Failed to save state"},"state":{"saved":"rescued","serial":2,"lineage":"l-1","where":"Secret a/x; rm -rf ~ #"}}`,
			Code:    4, Condition: batchv1.JobReasonPodFailurePolicy}, 4, "--backup 'x; rm -rf ~ #' --image IMAGE puts it back"},
		"state is rescued": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"step","reason":"state-write","step":"apply","tail":"Failed to save state"},"state":{"saved":"rescued","serial":2,"lineage":"l-1","where":"Secret a/captf-rescue-x-2"}}`,
			Code:    4, Condition: batchv1.JobReasonPodFailurePolicy}, 4, "--backup captf-rescue-x-2 --image IMAGE puts it back"},
		"stopped": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":{"kind":"interrupted","step":"apply","tail":"execution halted"}}`,
			Code:    3, Condition: batchv1.JobReasonPodFailurePolicy}, 3, "Interrupted (it was told to stop)"},
		"killed": {jobtest.End{Code: 137, Reason: "OOMKilled", Condition: batchv1.JobReasonBackoffLimitExceeded}, 1, "apply: Failed (oom-killed)"},
		"killed in an apply": {jobtest.End{
			Message: `{"version":1,"op":"apply","error":null,"partial":true,"unsaved":{"count":1,"resources":[{"address":"a.b","action":"create","id":"i-1"}]}}`,
			Code:    137, Condition: batchv1.JobReasonBackoffLimitExceeded}, 3, "create a.b i-1"},
		"lost": {jobtest.End{NoPod: true, Condition: batchv1.JobReasonBackoffLimitExceeded}, 3, "apply: Interrupted (pod-lost)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := setUp(t)
			ended := term.begin(term.args("apply")...)
			term.end(tt.end)
			term.code(ended, tt.code)
			term.says(term.err, tt.says)
			if len(term.jobs()) != 1 {
				t.Errorf("%d Jobs, want 1: nobody asked for another attempt", len(term.jobs()))
			}
		})
	}
}

// A plan prints its hash, and an apply hands it to the runner.
func TestPlanAndApprove(t *testing.T) {
	term := setUp(t)
	hash := "p2:" + strings.Repeat("a1", 32)
	ended := term.begin(term.args("plan")...)
	term.end(jobtest.End{Message: `{"version":1,"op":"plan","error":null,"plan":{"hash":"` + hash + `","create":1,"update":0,"delete":0,"resources":[{"address":"a.b","action":"create"}]}}`})
	term.code(ended, 0)
	term.says(term.err, "plan: 1 to create, 0 to update", "create a.b")
	if term.out.String() != hash+"\n" {
		t.Errorf("printed %q, want the hash", term.out)
	}
	ended = term.begin(term.args("apply", "--approve", hash)...)
	job := term.end(applied())
	term.code(ended, 0)
	made, err := term.client.BatchV1().Jobs(term.namespace).Get(t.Context(), job, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if args := made.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--expect-plan="+hash) {
		t.Errorf("arguments %v", args)
	}
	key, err := term.client.CoreV1().Secrets(term.namespace).Get(t.Context(), launch.DefaultPlanKey, metav1.GetOptions{})
	if err != nil || len(key.Data["key"]) != 32 {
		t.Errorf("the plan key: %v", err)
	}
}

// What the same command line will come to again is a failure.
func TestPermanentErrors(t *testing.T) {
	term := setUp(t)
	term.must(1, term.args("restore", "--backup", "nosuch")...)
	term.says(term.err, `no backup or rescue set "nosuch"`, "captf state backups")
}

// A state that cannot be read is a person's, and its reason is named once.
func TestRefusal(t *testing.T) {
	term := setUp(t)
	if err := term.kubelet.WriteState(t.Context(), 1, "{"); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"--detach", "--dry-run"} {
		term.clear()
		term.must(4, term.args("apply", more)...)
		term.says(term.err, "StateCorrupt: ", "captf doctor terraformcluster/prod -n "+term.namespace)
		if n := strings.Count(term.err.String(), "StateCorrupt"); n != 1 {
			t.Errorf("the reason stands there %d times: %s", n, term.err)
		}
	}
}

func TestDetachAndAttach(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("apply", "--detach")...)
	job := strings.TrimSpace(term.out.String())
	term.clear()
	ended := term.begin("attach", job)
	term.end(applied())
	term.code(ended, 0)
	term.says(term.out, `url = "https://x"`)
	term.clear()
	term.must(0, "attach", job) // its books are closed
	term.says(term.err, "apply succeeded: 2 added")
	term.must(1, "attach", "nothing")
}

// A Job that a controller started is booked for its object: the state is adopted.
func TestAttachToJobOfController(t *testing.T) {
	term := setUp(t)
	order := launch.Order{
		Object: term.object, Reference: corev1.ObjectReference{APIVersion: "x.io/v1", Kind: "TerraformCluster", Name: "prod", UID: "uid-1"},
		Desired: launch.Desired{Op: naming.Apply, InputsHash: "h2:1"}, Template: launch.Template{Image: "module", RunnerImage: "runner"}, LockVersion: "none",
	}
	var err error
	if order.Name, err = naming.JobName(term.object, naming.Apply, 1, "h2:1", ""); err != nil {
		t.Fatal(err)
	}
	job, err := launch.NewJob(order)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.client.BatchV1().Jobs(term.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-config"}}
	if _, err := term.client.CoreV1().Secrets(term.namespace).Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ended := term.begin("attach", job.Name)
	term.end(applied())
	term.code(ended, 0)
	base, err := term.client.CoreV1().Secrets(term.namespace).Get(t.Context(), naming.StateSecret(naming.Suffix(term.object), 0), metav1.GetOptions{})
	if err != nil || len(base.OwnerReferences) != 1 || base.Annotations["captf.io/inputs-hash"] != "h2:1" {
		t.Errorf("%v: owners %v, annotations %v", err, base.OwnerReferences, base.Annotations)
	}
}

func TestDryRun(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("apply", "--dry-run", "--memory", "1Gi")...)
	var job batchv1.Job
	if err := yaml.UnmarshalStrict([]byte(term.out.String()), &job); err != nil {
		t.Fatal(err)
	}
	if got := job.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String(); job.Kind != "Job" || got != "1Gi" {
		t.Errorf("kind %s, memory %s", job.Kind, got)
	}
	term.clear()
	term.must(0, term.args("apply", "--dry-run", "-o", "json")...)
	if err := json.Unmarshal([]byte(term.out.String()), &job); err != nil || job.Kind != "Job" {
		t.Errorf("-o json: kind %s, error %v", job.Kind, err)
	}
	if len(term.jobs()) > 0 {
		t.Error("it was created")
	}
	leases, err := term.client.CoordinationV1().Leases(term.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) > 0 {
		t.Errorf("%v: leases %v", err, leases.Items)
	}
}

// With --wait-for-lock no Job is burnt behind somebody's lock, and the wait says whose it is.
func TestWaitForLock(t *testing.T) {
	term := setUp(t)
	if err := term.kubelet.Lock(t.Context(), "id-1", "me@laptop"); err != nil {
		t.Fatal(err)
	}
	ended := term.begin(term.args("apply", "--wait-for-lock")...)
	term.awaitText("me@laptop")
	if len(term.jobs()) > 0 {
		t.Error("a Job was started")
	}
	if err := term.kubelet.Lock(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	term.end(applied())
	term.code(ended, 0)
}

// A second launch waits for the first one's Job.
func TestWaitForOtherJob(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("apply", "--detach")...)
	first := strings.TrimSpace(term.out.String())
	ended := term.begin(term.args("apply")...)
	term.awaitText("waiting for the end of job " + first + ": job " + first + " has no pod yet; captf launch attach " + first + " -n " + term.namespace)
	term.end(applied())
	term.await("second Job", func() bool { return len(term.jobs()) == 2 })
	term.end(applied())
	term.code(ended, 0)
}

// A Job that somebody deletes while it is watched is not created anew.
func TestJobIsDeleted(t *testing.T) {
	term := setUp(t)
	ended := term.begin(term.args("apply")...)
	job := term.job()
	if err := term.client.BatchV1().Jobs(term.namespace).Delete(t.Context(), job, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatal(err)
	}
	term.code(ended, 3)
	term.says(term.err, "job "+job+" was deleted while it ran", "nothing is known of its end", "captf doctor terraformcluster/prod -n "+term.namespace)
	if len(term.jobs()) > 0 {
		t.Error("there is another Job")
	}
}

// Of a Job that was deleted without its pod, the pod tells.
func TestJobIsDeletedWithoutItsPod(t *testing.T) {
	term := setUp(t)
	ended := term.begin(term.args("apply", "--lock-timeout", "0")...)
	job := term.job()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: job + "-x1y2z", Labels: map[string]string{batchv1.JobNameLabel: job}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "module"}}},
	}
	pods := term.client.CoreV1().Pods(term.namespace)
	made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status.Phase = corev1.PodSucceeded
	made.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "runner", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Message: applied().Message},
	}}}
	if _, err := pods.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := term.client.BatchV1().Jobs(term.namespace).Delete(t.Context(), job, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}); err != nil {
		t.Fatal(err)
	}
	// There is no controller here that takes the finalizer of an orphaning deletion away.
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := term.client.BatchV1().Jobs(term.namespace).Patch(t.Context(), job, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	term.code(ended, 3)
	term.says(term.err, "its pod "+pod.Name+" ended with exit code 0: 2 added, 1 changed, 0 destroyed")
}

// A Secret that the pod is to get has to be there.
func TestMissingSecret(t *testing.T) {
	term := setUp(t)
	term.must(1, term.args("apply", "--env-from-secret", "nope")...)
	term.says(term.err, `--env-from-secret: secrets "nope" not found`)
}

// A Job that a quota refuses leaves nothing: no root, and no lease that the next launch would wait for.
func TestQuota(t *testing.T) {
	term := setUp(t)
	quotas := term.client.CoreV1().ResourceQuotas(term.namespace)
	none := corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if _, err := quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The admission plugin learns of the quota by a watch: a Job that is created before that is deleted again.
	term.await("quota", func() bool {
		_, err := term.client.BatchV1().Jobs(term.namespace).Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "x", Image: "x"}},
			}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
	term.must(1, term.args("apply")...)
	term.says(term.err, "exceeded quota")
	secrets, err := term.client.CoreV1().Secrets(term.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: launch.LabelConfig})
	if err != nil || len(secrets.Items) > 0 {
		t.Errorf("%v: %d roots are left", err, len(secrets.Items))
	}
	leases, err := term.client.CoordinationV1().Leases(term.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) > 0 {
		t.Errorf("%v: %d leases are left", err, len(leases.Items))
	}
}

// The root is the Job's, so that who deletes the Job deletes it.
func TestJobOwnsItsRoot(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("apply", "--detach")...)
	job := term.jobs()[0]
	config, err := term.client.CoreV1().Secrets(term.namespace).Get(t.Context(), job.Name+"-config", metav1.GetOptions{})
	if err != nil || len(config.OwnerReferences) != 1 || config.OwnerReferences[0].UID != job.UID {
		t.Errorf("%v: owners %v, want the job alone", err, config.OwnerReferences)
	}
}

func TestInterrupt(t *testing.T) {
	t.Run("no terminal", func(t *testing.T) {
		term := setUp(t)
		ended := term.begin(term.args("apply")...)
		job := term.job()
		term.awaitText("job " + job + " is created")
		term.interrupts <- os.Interrupt
		term.code(ended, 3)
		term.says(term.err, "captf launch attach "+job+" -n "+term.namespace)
	})
	for answer, want := range map[string]string{"watch\n": "goes on", "\n": "goes on", "s\n": "is told to stop"} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			term := setUp(t)
			term.env.Terminal = true
			ended := term.begin(term.args("apply")...)
			job := term.job()
			term.awaitText("job " + job + " is created")
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: job + "-x1y2z", Labels: map[string]string{batchv1.JobNameLabel: job}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "module"}}},
			}
			pods := term.client.CoreV1().Pods(term.namespace)
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			term.interrupts <- os.Interrupt
			term.awaitText("[stop/watch]")
			if _, err := term.keyboard.Write([]byte(answer)); err != nil {
				t.Fatal(err)
			}
			term.awaitText(want)
			if answer != "s\n" {
				term.code(ended, 3)
				return
			}
			term.await("end of the pod", func() bool {
				_, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
				return err != nil
			})
			term.end(jobtest.End{NoPod: true, Condition: batchv1.JobReasonBackoffLimitExceeded})
			term.code(ended, 3)
			term.says(term.err, "Interrupted")
		})
	}
}
