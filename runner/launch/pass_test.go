package launch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// A whole life: apply, drift, destroy, and nothing is left but backups and the Jobs.
func TestPassLife(t *testing.T) {
	f := setUp(t)
	run := f.finish(f.start(), jobtest.Succeeded)
	if run.Outcome.Verdict != Succeeded || run.Outcome.Source != SourcePod || run.Outcome.Untouched {
		t.Errorf("outcome %+v", run.Outcome)
	}
	r := f.expect(Idle, ReasonDone)
	if r.Condition.Status != "True" || r.State.InputsHash != "h2:1" {
		t.Errorf("condition %+v, state %+v", r.Condition, r.State)
	}
	if got := f.secrets(LabelConfig); len(got) > 0 {
		t.Errorf("config secrets are left: %v", got)
	}
	if got := f.leases("captf.io/lease"); len(got) > 0 {
		t.Errorf("leases are left: %v", got)
	}

	f.object.desired = Desired{Op: naming.Drift, Tick: "monday", Applied: true}
	drift := jobtest.Succeeded
	drift.Serial = 2
	f.finish(f.start(), drift)
	f.expect(Idle, ReasonDone)

	f.object.desired = Desired{Op: naming.Destroy, Applied: true}
	destroy := jobtest.Succeeded
	destroy.Serial = 3
	f.finish(f.start(), destroy)
	if r := f.expect(Cleanup, ReasonDestroyed); !r.Gone {
		t.Error("the object may not go")
	}
	if r := f.expect(Cleanup, ReasonDestroyed); !r.Gone {
		t.Error("the object may no longer go")
	}
	if got := f.secrets("tfstate=true"); len(got) > 0 {
		t.Errorf("chunks are left: %v", got)
	}
	want := map[string]int{"JobSucceeded": 3, "StateBackedUp": 3, "StateDeleted": 1}
	if diff := cmp.Diff(want, f.events()); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	if got := f.secrets(naming.LabelBackup + "=true"); len(got) != 3 {
		t.Errorf("backups %v, want 3", got)
	}
}

func TestPassFailsAndBacksOff(t *testing.T) {
	f := setUp(t)
	job := f.start()
	if r := f.expect(Follow, ReasonRunning); r.After == 0 {
		t.Error("it does not say when to look again")
	}
	run := f.finish(job, jobtest.Failed)
	if run.Outcome.Verdict != Failed || run.Outcome.Reason != "provider" || !run.Outcome.Untouched {
		t.Errorf("outcome %+v", run.Outcome)
	}
	r := f.expect(Wait, ReasonBackingOff)
	if r.After <= 0 || r.After > time.Minute {
		t.Errorf("look again after %s", r.After)
	}
	f.launcher.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	if second := f.start(); !strings.Contains(second, "-a2-") {
		t.Errorf("the second attempt is %s", second)
	}
}

// A retry with a new nonce, be it part of the inputs or beside them, is not taken for the Job that failed before it; one
// with the same nonce is. cases.md 70.
func TestPassRetries(t *testing.T) {
	for name, retry := range map[string]func(*Desired){
		"in the inputs": func(d *Desired) { d.InputsHash = "h2:2" },
		"beside them":   func(d *Desired) { d.Tick = "again" },
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t)
			f.object.desired.Once = true
			first := f.start()
			f.finish(first, jobtest.Failed)
			for range 2 {
				f.expect(Idle, ReasonDone)
			}
			retry(&f.object.desired)
			second := f.start()
			f.expect(Follow, ReasonRunning)
			f.finish(second, jobtest.Failed)
			f.expect(Idle, ReasonDone)
			if jobs := f.jobs(); len(jobs) != 2 || first == second {
				t.Errorf("there are %d Jobs, the two that were started are %s and %s", len(jobs), first, second)
			}
		})
	}
}

// The stale lock of a pod that is gone goes to the next Job, which is named in the event; a foreign one stays.
func TestPassLocks(t *testing.T) {
	f := setUp(t)
	first := f.start()
	lost := jobtest.End{Condition: batchv1.JobReasonBackoffLimitExceeded, NoPod: true}
	if err := f.kubelet.Lock(t.Context(), "id-1", "root@"+first+"-x1y2z"); err != nil {
		t.Fatal(err)
	}
	f.configMap(changesName(first), "changes.json", `{}`)
	run := f.finish(first, lost)
	if !strings.Contains(run.Outcome.Message, changesName(first)) {
		t.Errorf("message %q, want the list of changes named", run.Outcome.Message)
	}
	if run.Outcome.Verdict != Interrupted || run.Outcome.Reason != ReasonPodLost || run.Outcome.Source != SourceConditions {
		t.Errorf("outcome %+v", run.Outcome)
	}
	second := f.start()
	if got := f.jobs()[1].ForceUnlock; got != "id-1" {
		t.Errorf("job %s got lock ID %q, want id-1", second, got)
	}
	if got := f.events()["ForceUnlocked"]; got != 1 {
		t.Errorf("%d events ForceUnlocked, want 1", got)
	}
	f.finish(second, jobtest.Failed)
	if got := f.events()["ForceUnlocked"]; got != 1 {
		t.Errorf("%d events ForceUnlocked after booking, want 1", got)
	}

	if err := f.kubelet.Lock(t.Context(), "id-2", "me@laptop"); err != nil {
		t.Fatal(err)
	}
	f.launcher.Now = func() time.Time { return time.Now().Add(time.Hour) }
	f.launcher.WaitForForeignLock = true
	for range 3 {
		r := f.expect(Wait, ReasonLockForeign)
		for _, part := range []string{"id-2", "me@laptop", "OperationTypeApply", "2026-11-30T08:00:00Z"} {
			if !strings.Contains(r.Condition.Message, part) {
				t.Errorf("condition %+v lacks %q", r.Condition, part)
			}
		}
		if r.Condition.Type != "StateReadable" || r.Condition.Status != "False" || r.Condition.Reason != "StateLocked" {
			t.Errorf("condition %+v", r.Condition)
		}
	}
	if got := f.events()["StateLocked"]; got != 1 {
		t.Errorf("%d events StateLocked, want 1", got)
	}
	f.launcher.WaitForForeignLock = false
	f.start()
	if got := f.jobs()[2].ForceUnlock; got != "" {
		t.Errorf("a foreign lock was handed down: %q", got)
	}
}

// A node that was rebooted says of its containers only that they are gone: the run was interrupted, and is due again
// at once.
func TestPassNodeRebooted(t *testing.T) {
	for reason, code := range map[string]int32{"Unknown": 255, "ContainerStatusUnknown": 137} {
		f := setUp(t)
		end := jobtest.End{Message: `{"version":1,"op":"apply","error":null,"partial":true}`, Code: code, Reason: reason, Condition: batchv1.JobReasonBackoffLimitExceeded}
		run := f.finish(f.start(), end)
		if run.Outcome.Verdict != Interrupted || run.Outcome.Reason != ReasonNodeLost {
			t.Errorf("%s: outcome %+v", reason, run.Outcome)
		}
		f.start()
	}
}

// The deadline deletes the pod. What the runner left in the ConfigMap is the result then, and else the condition is.
func TestPassDeadline(t *testing.T) {
	f := setUp(t)
	late := jobtest.End{Condition: "DeadlineExceeded", NoPod: true}
	run := f.finish(f.start(), late)
	if run.Outcome.Verdict != Interrupted || run.Outcome.Reason != "deadline" || !run.Outcome.Counts() {
		t.Errorf("outcome without a result: %+v", run.Outcome)
	}
	f.launcher.Now = func() time.Time { return time.Now().Add(time.Hour) }
	second := f.start()
	f.configMap(resultName(second), resultKey, `{"version":1,"op":"apply","error":{"kind":"interrupted","step":"apply","tail":"signal"},"changes":{"add":7,"change":0,"destroy":0}}`)
	run = f.finish(second, late)
	if run.Outcome.Source != SourceConfigMap || run.Outcome.Result == nil || run.Outcome.Result.Changes.Add != 7 || run.Outcome.Reason != "deadline" {
		t.Errorf("outcome from the ConfigMap: %+v", run.Outcome)
	}
}

func TestPassPolicyRefuses(t *testing.T) {
	f := setUp(t)
	f.launcher.Policy = func(_ context.Context, o Order) error {
		return errors.New("image " + o.Template.Image + " is not signed")
	}
	if r := f.expect(Refuse, ReasonPolicy); r.Decision.Message != "image module is not signed" {
		t.Errorf("message %q", r.Decision.Message)
	}
	if got := f.leases("captf.io/lease"); len(got) > 0 || len(f.jobs()) > 0 {
		t.Errorf("something was taken: %v", got)
	}
}

// A state Secret whose label somebody changed is not replaced by an empty state.
func TestPassGuardsLabels(t *testing.T) {
	f := setUp(t)
	f.finish(f.start(), jobtest.Succeeded)
	f.mislabel()
	f.object.desired.InputsHash = "h2:2"
	r := f.expect(Refuse, string(state.Mislabelled))
	if !strings.Contains(r.Decision.Message, naming.LabelCluster) {
		t.Errorf("message %q does not name the label", r.Decision.Message)
	}
}

// A label that was changed before the books were closed does not keep them open: the result is told, then refused by.
func TestPassBooksInSpiteOfLabels(t *testing.T) {
	f := setUp(t)
	job := f.start()
	if err := f.kubelet.Run(t.Context(), job, jobtest.Succeeded); err != nil {
		t.Fatal(err)
	}
	f.mislabel()
	if r := f.expect(Book, ReasonFinished); len(r.Booked) != 1 || f.events()["JobSucceeded"] != 1 {
		t.Errorf("booked %v, events %v", r.Booked, f.events())
	}
	f.expect(Refuse, string(state.Mislabelled))
}

// mislabel changes a label that the backend finds the state by.
func (f *fixture) mislabel() {
	f.Helper()
	name := naming.StateSecret(naming.Suffix(f.object.id), 0)
	secrets := f.client.CoreV1().Secrets(f.object.id.Namespace)
	secret, err := secrets.Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	secret.Labels[naming.LabelCluster] = "other"
	if _, err := secrets.Update(f.Context(), secret, metav1.UpdateOptions{}); err != nil {
		f.Fatal(err)
	}
}

// A lease whose holder is no name of a Job is as good as one whose Job is gone, and no reason to fail for ever.
func TestHolderThatIsNoJob(t *testing.T) {
	f := setUp(t)
	for _, holder := range []string{"ann@laptop", "a/b", "Me", strings.Repeat("x", 70)} {
		if job, err := f.launcher.Clients.Holder(t.Context(), holder); err != nil || job.Exists || job.PodRuns {
			t.Errorf("%q: %+v, error %v", holder, job, err)
		}
	}
}

// Chunks that lost their owner get it back, once, and not while the object is paused.
func TestPassRepairs(t *testing.T) {
	f := setUp(t)
	f.finish(f.start(), jobtest.Succeeded)
	f.object.uid = "uid-after-move"
	f.object.desired.Paused = true
	f.expect(Idle, ReasonPaused)
	f.object.desired.Paused = false
	f.expect(Repair, ReasonOrphaned)
	f.expect(Idle, ReasonDone)
	if got := f.events()["OwnerReferencesRepaired"]; got != 1 {
		t.Errorf("%d events OwnerReferencesRepaired, want 1", got)
	}
}

// A machine waits for its cluster's Job, holds nothing meanwhile, and goes on after it.
func TestPassWaitsForCluster(t *testing.T) {
	f := setUp(t)
	cluster := newFixture(t, f.client, f.object.id.Namespace, "prod")
	cluster.object.id.Kind = naming.Cluster
	cluster.kubelet.Object = cluster.object.id
	job := cluster.start()
	r := f.expect(Wait, "WaitingForClusterOperation")
	if !strings.Contains(r.Decision.Message, job) || r.After == 0 {
		t.Errorf("message %q, after %s", r.Decision.Message, r.After)
	}
	cluster.finish(job, jobtest.Succeeded)
	f.start()
}

// A Job past its deadline that was given hours to save its state may work so much longer, and a machine waits for it.
func TestPassWaitsForClusterThatIsStopping(t *testing.T) {
	f := setUp(t)
	cluster := newFixture(t, f.client, f.object.id.Namespace, "prod")
	cluster.object.id.Kind = naming.Cluster
	cluster.object.template.Grace = 2 * time.Hour
	cluster.start()
	f.launcher.Now = func() time.Time { return time.Now().Add(DefaultDeadline + 2*time.Hour) }
	f.expect(Wait, "WaitingForClusterOperation")
	f.launcher.Now = func() time.Time { return time.Now().Add(DefaultDeadline + 3*time.Hour) }
	f.start()
}

// A Job that a queue holds back for hours keeps the machines out all the while, and after it was let go.
func TestPassWaitsForSuspendedCluster(t *testing.T) {
	f := setUp(t)
	cluster := newFixture(t, f.client, f.object.id.Namespace, "prod")
	cluster.object.id.Kind = naming.Cluster
	cluster.object.template.Adjust = func(j *batchv1.Job) { j.Spec.Suspend = new(true) }
	name := cluster.start()
	later := func() time.Time { return time.Now().Add(24 * time.Hour) }
	f.launcher.Now = later
	f.expect(Wait, "WaitingForClusterOperation")

	jobs := f.client.BatchV1().Jobs(f.object.id.Namespace)
	job, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
	f.must(err)
	job.Spec.Suspend = new(false)
	job, err = jobs.Update(t.Context(), job, metav1.UpdateOptions{})
	f.must(err)
	job.Status.StartTime = new(metav1.NewTime(later()))
	_, err = jobs.UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	f.must(err)
	f.expect(Wait, "WaitingForClusterOperation")
}

// An object without a UID, which cannot own its state, is applied once all the same, and not again and again.
func TestPassOfAnObjectWithoutUID(t *testing.T) {
	f := setUp(t)
	f.object.uid = ""
	f.finish(f.start(), jobtest.Succeeded)
	f.expect(Idle, ReasonDone)
}

// Clients of another namespace find no state: a destroy must not take that for its end.
func TestPassOfAnotherNamespace(t *testing.T) {
	f := setUp(t)
	f.launcher.Clients.Namespace = "elsewhere"
	f.object.desired.Op = naming.Destroy
	r, err := f.launcher.Pass(t.Context(), f.object)
	if err == nil || !strings.Contains(err.Error(), "namespace elsewhere") || r.Gone {
		t.Errorf("got %+v, error %v", r.Decision, err)
	}
}

// A first init that was killed between making the state's Secret and filling it does not need a person.
func TestPassGoesOnAfterKilledInit(t *testing.T) {
	f := setUp(t)
	owned, err := naming.Labels(f.object.id)
	if err != nil {
		t.Fatal(err)
	}
	suffix := naming.Suffix(f.object.id)
	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: naming.StateSecret(suffix, 0), Labels: naming.BackendSelector(suffix, owned)}}
	if _, err := f.client.CoreV1().Secrets(f.object.id.Namespace).Create(t.Context(), empty, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.object.uid = ""
	f.start()
}
