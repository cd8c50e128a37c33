package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// putJob makes a Job of the object as launch does. A condition finishes it.
func putJob(t *testing.T, c *statetest.Cluster, op naming.Op, attempt int, condition batchv1.JobConditionType) *batchv1.Job {
	t.Helper()
	name, err := naming.JobName(c.Object, op, attempt, "h2:x", "")
	if err != nil {
		t.Fatal(err)
	}
	labels, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	labels[launch.LabelOp] = string(op)
	jobs := kubetest.Shared(t).Clientset().BatchV1().Jobs(c.Object.Namespace)
	job, err := jobs.Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "runner", Image: "example.test/none"}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if condition != "" {
		finish(t, c, job, condition)
	}
	return job
}

func finish(t *testing.T, c *statetest.Cluster, job *batchv1.Job, condition batchv1.JobConditionType) {
	t.Helper()
	now := metav1.Now()
	before := batchv1.JobFailureTarget
	if condition == batchv1.JobComplete {
		before = batchv1.JobSuccessCriteriaMet
		job.Status.CompletionTime = &now
	}
	job.Status.StartTime = &now
	for _, kind := range []batchv1.JobConditionType{before, condition} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	jobs := kubetest.Shared(t).Clientset().BatchV1().Jobs(c.Object.Namespace)
	if _, err := jobs.UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// putJobPod makes the pod of a Job.
func putJobPod(t *testing.T, c *statetest.Cluster, job *batchv1.Job, status corev1.PodStatus) {
	t.Helper()
	labels := map[string]string{batchv1.JobNameLabel: job.Name, batchv1.ControllerUidLabel: string(job.UID)}
	for key, value := range job.Labels {
		labels[key] = value
	}
	putPod(t, c, job.Name+"-abcde", labels, status)
}

// putResult makes the ConfigMap that a runner leaves that is told to stop.
func putResult(t *testing.T, c *statetest.Cluster, job *batchv1.Job, r *result.Result) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-result"}, Data: map[string]string{"result.json": string(result.Encode(r))}}
	if _, err := kubetest.Shared(t).Clientset().CoreV1().ConfigMaps(c.Object.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The result of a Job whose pod was deleted is known before its books are closed. Who may not read it is told so.
func TestResultWithoutPod(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	job := putJob(t, c, naming.Apply, 1, batchv1.JobFailed)
	putResult(t, c, job, &result.Result{Version: result.Version, Op: "apply", Error: &result.Error{Step: "apply", Kind: result.KindInterrupted, Tail: "told to stop"}})
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "Interrupted: told to stop; launch it again")
	few := program{kubeconfig: kubetest.Shared(t).Kubeconfig(t, c.Object.Namespace,
		rules("secrets get,list; leases get,list; jobs get,list; pods get,list"))}
	few.run(t, "doctor", "tm/worker-0").want(t, 0, "(pod-lost)", "its result may be in a ConfigMap, which may not be read", job.Name+"-result")
}

// A state that a Secret has no room for cannot be restored either.
func TestTooLargeState(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	job, set := putJob(t, c, naming.Apply, 1, batchv1.JobFailed), naming.RescueSecret(c.Suffix, 8, 0)
	putJobPod(t, c, job, terminated(result.ExitPerson, &result.Result{
		Version: result.Version, Op: "apply", State: &result.State{Saved: result.SavedRescued, Where: "Secret n/" + set},
		Error: &result.Error{Step: "apply", Kind: result.KindStep, Reason: result.ReasonStateWrite, Tail: "Request entity too large: limit is 3145728"},
	}))
	putRescue(t, c, 8)
	e := p.run(t, "doctor", "tm/worker-0")
	e.want(t, 1, "a restore fails in the same way", "-> captf state pull tm/worker-0@"+set+" -n "+c.Object.Namespace+" > state.json")
	if strings.Contains(e.out, "launch restore") {
		t.Errorf("it advises a restore:\n%s", e.out)
	}
}

// terminated is the status of a runner's pod that ended with a result.
func terminated(code int32, r *result.Result) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "runner", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: string(result.Encode(r))}},
	}}}
}

func TestDoctorOfAHealthyObject(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	p.run(t, "state", "backup", "tm/worker-0").want(t, 0)
	putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	e := p.run(t, "doctor", "tm/worker-0")
	e.want(t, 0, "tm/worker-0 in namespace "+c.Object.Namespace+", cluster prod", "ok   state   readable: serial 7", "ok   lock    Free",
		"ok   lease   none", "Succeeded", "1 complete backup")
	if strings.Contains(e.out, "->") {
		t.Errorf("a healthy object needs a command:\n%s", e.out)
	}
	if lines := strings.Count(e.out, "\n"); lines > 24 {
		t.Errorf("%d lines are more than a screen:\n%s", lines, e.out)
	}
}

func TestDoctorOfAKilledRun(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	held := lock.FromLease(killed(t, c))
	p := operator(t, c)
	e := p.run(t, "doctor", "tm/worker-0")
	e.want(t, 1, "!!   lock    Foreign", "-> make sure that it is dead, then: captf lock release tm/worker-0 -n "+c.Object.Namespace+" --foreign --id "+held.ID())
	heldBy(t, c, "runner@"+ownPod(t, c))
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "note lock    Stale", "the next Job releases it", "-> captf lock release tm/worker-0")
	p.argv0 = "/usr/local/bin/kubectl-captf"
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "-> kubectl captf lock release tm/worker-0")
}

func TestDoctorOfAStateThatCouldNotBeSaved(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	putRescue(t, c, 8)
	job := putJob(t, c, naming.Apply, 1, batchv1.JobFailed)
	serial := uint64(8)
	putJobPod(t, c, job, terminated(result.ExitPerson, &result.Result{
		Version: result.Version, Op: "apply",
		Error: &result.Error{Kind: result.KindStep, Reason: result.ReasonStateWrite, Step: "apply", Tail: "cannot save"},
		State: &result.State{Saved: result.SavedRescued, Serial: &serial, Lineage: "3f2a", Where: "Secret x"},
	}))
	var v doctorView
	e := p.run(t, "doctor", "tm/worker-0", "-o", "json")
	e.want(t, 1)
	e.decode(t, &v)
	set := naming.RescueSecret(c.Suffix, 8, 0)
	look := "captf state diff tm/worker-0 tm/worker-0@" + set + " -n " + c.Object.Namespace
	want := []finding{
		{Area: "state", Level: fine, Text: "readable: serial 7, 0 resources, lineage 3f2a"},
		{Area: "lock", Level: fine, Text: "Free: nobody holds it"},
		{Area: "lease", Level: fine, Text: "none: nothing keeps a Job from being started"},
		{
			Area: "job", Level: problem,
			Text: job.Name + ": StateUnsaved (state-write): the state is in Secret x: cannot save; nothing may run before its state is restored",
			Next: "captf state rescue tm/worker-0 -n " + c.Object.Namespace,
		},
		{
			Area: "copies", Level: problem,
			Text: "rescue set " + set + " has serial 8, the state has only 7: what a run did is missing in it; restore the set before anything else runs",
			Next: "look first: " + look + "; then: captf launch restore tm/worker-0 -n " + c.Object.Namespace + " --image IMAGE -f ROOT --backup " + set,
		},
		{Area: "copies", Level: note, Text: "no backup", Next: "captf state backup tm/worker-0 -n " + c.Object.Namespace},
	}
	if diff := cmp.Diff(want, v.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if len(v.Jobs) != 1 || v.Jobs[0].Verdict != launch.StateUnsaved || v.Healthy {
		t.Errorf("got %+v", v)
	}
	for _, next := range []string{want[3].Next, look, want[5].Next} {
		p.run(t, strings.Fields(next)[1:]...).want(t, 0)
	}
}

func TestDoctorRemembersAnUnsavedStateUntilARestore(t *testing.T) {
	run := func(op naming.Op, verdict launch.Verdict) launch.Run {
		return launch.Run{Name: string(op), Job: naming.Job{Op: op}, Finished: true, Outcome: &launch.Outcome{Verdict: verdict}}
	}
	lost, plan := run(naming.Apply, launch.StateUnsaved), run(naming.Plan, launch.Succeeded)
	for _, c := range []struct {
		name string
		runs []launch.Run
		want []level
	}{
		{"last", []launch.Run{plan, lost}, []level{problem}},
		{"a plan came after it", []launch.Run{lost, plan}, []level{problem, fine}},
		{"a restore that failed", []launch.Run{lost, run(naming.Restore, launch.Failed)}, []level{problem, problem}},
		{"a restore", []launch.Run{lost, run(naming.Restore, launch.Succeeded), plan}, []level{fine}},
	} {
		var got []level
		for _, f := range (observed{runs: c.runs}).ofJobs() {
			got = append(got, f.Level)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestDoctorOfALostState(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "note state   there is no state")
	putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "!!   state   lost: a Job has applied", "there is no complete copy", "kubectl get secret -n "+c.Object.Namespace)
	putRescue(t, c, 8)
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "!!   state   lost", "-> captf launch restore tm/worker-0 -n "+c.Object.Namespace+" --image IMAGE -f ROOT --backup "+naming.RescueSecret(c.Suffix, 8, 0))
}

// What is destroyed is no problem, whatever copies and old rescue sets it leaves, and whether or not a Job is left to
// tell. A copy with resources and no Job that tells of a destroy is one.
func TestDoctorWithoutAState(t *testing.T) {
	t.Parallel()
	full := `{"version":4,"serial":1,"lineage":"3f2a","outputs":{},"resources":[{"mode":"managed"}]}`
	for name, test := range map[string]struct {
		states []string // of which there are copies
		ops    []naming.Op
		rescue bool
		code   int
		want   []string
	}{
		"destroyed":                  {states: []string{full, document(2)}, ops: []naming.Op{naming.Apply, naming.Destroy}, want: []string{"note state   there is no state"}},
		"destroyed long ago":         {states: []string{full, document(2)}, want: []string{"note state   there is no state", "2 complete backups"}},
		"destroyed, with a rescue":   {states: []string{full, document(2)}, rescue: true, want: []string{"note copies  rescue set", "is gone", "-> captf state explain tm/worker-0@"}},
		"a copy has resources":       {states: []string{full}, code: 1, want: []string{"!!   state   StateLost: there is no state, but backup", "has resources (1)", "-> captf launch restore"}},
		"applied again, and no copy": {ops: []naming.Op{naming.Destroy, naming.Apply}, code: 1, want: []string{"!!   state   lost: a Job has applied"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := statetest.New(t, kubetest.Shared(t))
			p := operator(t, c)
			if test.rescue {
				putRescue(t, c, 1)
			}
			for i, doc := range test.states {
				if i == 0 {
					c.Put(t, statetest.Gzip([]byte(doc)))
				} else {
					c.Change(t, 0, func(s *corev1.Secret) { s.Data["tfstate"] = statetest.Gzip([]byte(doc)) })
				}
				p.run(t, "state", "backup", "tm/worker-0").want(t, 0)
			}
			if len(test.states) > 0 {
				if err := c.Secrets.Delete(t.Context(), naming.StateSecret(c.Suffix, 0), metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for i, op := range test.ops {
				putJob(t, c, op, i+1, batchv1.JobComplete)
			}
			p.run(t, "doctor", "tm/worker-0").want(t, test.code, test.want...)
			if test.code != 0 && len(test.states) > 0 {
				p.run(t, "state", "backup", "tm/worker-0").want(t, 1, "StateLost", "restore it")
				p.run(t, "state", "ls", "-o", "wide").want(t, 0, "StateLost")
			}
		})
	}
}

// A first init that was killed leaves a Secret without a state: no person is needed.
func TestDoctorOfAFirstInitThatWasKilled(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.PutChunk(t, naming.StateSecret(c.Suffix, 0), nil)
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "note state   there is no state yet")
	putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "!!   state   StateInconsistent")
}

func TestDoctorOfAMislabelledState(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	c.Change(t, 0, func(s *corev1.Secret) { s.Labels[naming.LabelCluster] = "other" })
	e := p.run(t, "doctor", "tm/worker-0")
	next := "kubectl label secret --overwrite -n " + c.Object.Namespace + " " + naming.StateSecret(c.Suffix, 0) + " " + naming.LabelCluster + "=prod"
	e.want(t, 1, "!!   state   StateMislabelled", "-> "+next)
}

// kubectl runs a command that begins with kubectl, as a cluster admin.
func kubectl(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	if len(words) == 0 || words[0] != "kubectl" {
		t.Fatalf("%q is no command of kubectl", command)
	}
	cmd := exec.CommandContext(t.Context(), tools.Bin(t, "kubectl"), words[1:]...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + admin(t).kubeconfig}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// A Secret that only has the labels of a chunk makes the state unreadable: the command takes them away.
func TestDoctorOfAStranger(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	c.Put(t, statetest.Gzip([]byte(document(7))))
	c.PutChunk(t, "a-secret-of-mine", []byte("x"))
	e := p.run(t, "doctor", "tm/worker-0")
	e.want(t, 1, "!!   state   StateInconsistent: secret a-secret-of-mine")
	kubectl(t, e.next()[0])
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "ok   state   readable: serial 7")
}

// One command repairs all labels of all chunks, whatever they have lost.
func TestLabelsAreRepairedAtOnce(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	data := statetest.Gzip([]byte(document(7)))
	for i := range 3 {
		c.PutChunk(t, naming.StateSecret(c.Suffix, i), data[len(data)*i/3:len(data)*(i+1)/3])
	}
	c.Change(t, 0, func(s *corev1.Secret) { clear(s.Labels) })
	c.Change(t, 1, func(s *corev1.Secret) {
		delete(s.Labels, naming.LabelStateSuffix)
		s.Labels[naming.LabelCluster] = "other"
	})
	c.Change(t, 2, func(s *corev1.Secret) { delete(s.Labels, naming.LabelMove) })
	p := operator(t, c)
	var v stateView
	e := p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "prod", "-o", "json")
	e.want(t, 1, naming.StateSecret(c.Suffix, 0), naming.StateSecret(c.Suffix, 1), naming.StateSecret(c.Suffix, 2))
	e.decode(t, &v)
	kubectl(t, v.Next)
	p.run(t, "state", "show", "tm/worker-0", "--cluster-name", "prod").want(t, 0, "True StateRead", "in 3 Secrets")
}

func TestDoctorOfAJobThatDoesNotStart(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	job := putJob(t, c, naming.Apply, 1, "")
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "has no pod", "-> kubectl describe job -n")
	putJobPod(t, c, job, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "runner", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
	}}})
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "!!   job", "ImagePullBackOff: no such image", "-> kubectl describe pod -n")
}

func TestLeasesAreShown(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	p.run(t, "lease", "show").want(t, 0, "No lease")
	cluster := c.Object
	cluster.Kind, cluster.Name = naming.Cluster, "prod"
	gate := lease.Gate{Leases: c.Leases, Jobs: launch.NewClients(kubetest.Shared(t).Clientset(), c.Object.Namespace).Holder}
	for _, o := range []naming.Object{c.Object, cluster} {
		job, err := naming.JobName(o, naming.Apply, 1, "h2:x", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gate.Enter(t.Context(), lease.Claim{Object: o, Op: naming.Apply, Job: job, Deadline: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	p.run(t, "lease", "show").want(t, 0, "run      tm/worker-0", "cluster  tc/prod", "its Job does not exist yet")
	var views []leaseView
	p.run(t, "lease", "show", "tm/worker-0", "-o", "json").decode(t, &views)
	if len(views) != 2 || views[0].Kind != lease.KindRun || views[1].Kind != lease.KindCluster || views[0].Status != lease.Live {
		t.Errorf("got %+v, want the machine's run lease and its cluster's", views)
	}
	// The one waits for the other, and each is told so.
	p.run(t, "doctor", "tm/worker-0").want(t, 0, "cluster lease of tc/prod", "; tm/worker-0 waits for it")
	p.run(t, "doctor", "tc/prod").want(t, 0, "run lease of tm/worker-0", "; tc/prod waits for it")
	p.run(t, "lease", "show", "tc/prod").want(t, 0, "run      tm/worker-0")
	job := putJob(t, c, naming.Apply, 1, batchv1.JobComplete)
	p.run(t, "lease", "show", "worker-0").want(t, 0, job.Name, "Done", "its Job has finished")
	if e := p.run(t, "lease", "show", "tc/prod"); strings.Contains(e.out, "tm/worker-0") {
		t.Errorf("nothing waits for a Job that has finished:\n%s", e.out)
	}
	p.run(t, "lease", "show", "tm/none").want(t, 0, "unless it is in a cluster: none is named here")
}

func TestDoctorSaysWhatItMayNotSee(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list"}}}
	p := program{kubeconfig: kubetest.Shared(t).Kubeconfig(t, c.Object.Namespace, rules)}
	p.run(t, "doctor", "tm/worker-0").want(t, 1, "!!   state   it cannot be looked at", "ok   lock    Free", "have the right on secrets granted", "have the right on jobs.batch granted")
	p.run(t, "lock", "show", "tm/worker-0").want(t, 0, "Free")
	p.run(t, "lock", "show", "worker-0").want(t, 1, `find "worker-0"`, "cannot list resource", "docs/captf.md")
	p.run(t, "state", "pull", "tm/worker-0").want(t, 1, "forbidden", "docs/captf.md")
}
