package main

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// slow is a module whose apply does not end.
const slow = `resource "terraform_data" "x" {
  provisioner "local-exec" { command = "sleep 600" }
}`

// killed has a real run take the lock, kills it with SIGKILL, and returns the Lease that it left.
func killed(t *testing.T, c *statetest.Cluster) *coordinationv1.Lease {
	t.Helper()
	runtime := tools.Runtime{Name: "tofu", Path: tools.Bin(t, "tofu")}
	labels, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	m := c.Init(t, runtime, slow, labels)
	cmd := m.Command("apply", "-auto-approve", "-input=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }
	t.Cleanup(kill)
	lease := waitHeld(t, c)
	kill()
	return lease
}

func waitHeld(t *testing.T, c *statetest.Cluster) (lease *coordinationv1.Lease) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		l, err := c.Leases.Get(ctx, naming.LockLease(c.Suffix), metav1.GetOptions{})
		lease = l
		return err == nil && lock.FromLease(l).Info.Operation == "OperationTypeApply", nil
	})
	if err != nil {
		t.Fatalf("no run has taken the lock: %v", err)
	}
	return lease
}

// heldBy gives the lock another holder's name: a test cannot give a process the hostname of a pod.
func heldBy(t *testing.T, c *statetest.Cluster, who string) {
	t.Helper()
	lease, err := c.Leases.Get(t.Context(), naming.LockLease(c.Suffix), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var info map[string]any
	if err := json.Unmarshal([]byte(lease.Annotations[lock.InfoAnnotation]), &info); err != nil {
		t.Fatal(err)
	}
	info["Who"] = who
	text, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	lease.Annotations[lock.InfoAnnotation] = string(text)
	if _, err := c.Leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// ownPod is the name of a pod of one of the object's Jobs.
func ownPod(t *testing.T, c *statetest.Cluster) string {
	t.Helper()
	job, err := naming.JobName(c.Object, naming.Apply, 1, "h2:x", "")
	if err != nil {
		t.Fatal(err)
	}
	return job + "-abcde"
}

// putPod makes a pod, which nothing runs here, in a phase.
func putPod(t *testing.T, c *statetest.Cluster, name string, labels map[string]string, status corev1.PodStatus) {
	t.Helper()
	pods := kubetest.Shared(t).Clientset().CoreV1().Pods(c.Object.Namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "example.test/none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status = status
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestLockOfAKilledRun(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	lease := killed(t, c)
	held := lock.FromLease(lease)
	p := operator(t, c)
	name := "tm/" + c.Object.Name

	t.Run("show tells who", func(t *testing.T) {
		e := p.run(t, "lock", "show", name)
		e.want(t, 0, "verdict    Foreign", held.ID(), held.Info.Who, "OperationTypeApply", "is not a pod of the object's own Jobs", "--foreign --id "+held.ID())
		var v lockView
		p.run(t, "lock", "show", name, "-o", "json").decode(t, &v)
		want := lockView{
			Object: name, Namespace: c.Object.Namespace, Lease: lease.Name, Verdict: lock.Foreign, ID: held.ID(), Who: held.Info.Who,
			Operation: "OperationTypeApply", Created: &held.Info.Created, Version: held.Info.Version,
		}
		if diff := cmp.Diff(want, v, cmpopts.IgnoreFields(lockView{}, "Why", "Next")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("release is refused without --foreign and its ID", func(t *testing.T) {
		for _, args := range [][]string{{}, {"--id", held.ID()}} {
			p.run(t, append([]string{"lock", "release", name}, args...)...).want(t, 1, "nothing proves that its holder is dead", held.Info.Who)
		}
		p.run(t, "lock", "release", name, "--foreign", "--id", "another").want(t, 1, "held under another ID")
		p.run(t, "lock", "release", name, "--foreign").want(t, 2, "--foreign needs --id")
		still(t, c, held)
	})
	t.Run("a living pod keeps it", func(t *testing.T) {
		pod := ownPod(t, c)
		putPod(t, c, pod, nil, corev1.PodStatus{Phase: corev1.PodRunning})
		heldBy(t, c, "runner@"+pod)
		p.run(t, "lock", "show", name).want(t, 0, "verdict    Alive", "in phase Running", "kubectl logs -f")
		p.run(t, "lock", "release", name, "--id", held.ID()).want(t, 1, "its holder lives: pod "+pod)
		still(t, c, held)
		background := kubetest.Shared(t).Clientset().CoreV1().Pods(c.Object.Namespace)
		if err := background.Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a pod that is gone makes it stale, and it is released", func(t *testing.T) {
		p.run(t, "lock", "show", name).want(t, 0, "verdict    Stale", "does not exist any more")
		p.run(t, "lock", "release", name, "--id", "another").want(t, 1, "held under another ID")
		e := p.run(t, "lock", "release", lease.Name, "-o", "json")
		var v releaseView
		e.decode(t, &v)
		if v.Outcome != lock.Released || v.Lock.ID != held.ID() {
			t.Errorf("got %+v", v)
		}
		p.run(t, "lock", "show", name).want(t, 0, "verdict  Free", "nobody holds it")
		p.run(t, "lock", "release", name).want(t, 0, "nobody holds the lock of "+name)
	})
	t.Run("the runtime takes the lock again", func(t *testing.T) {
		c.Apply(t, tools.Runtime{Name: "tofu", Path: tools.Bin(t, "tofu")}, `resource "terraform_data" "y" {}`)
	})
}

// still checks that nobody has released the lock.
func still(t *testing.T, c *statetest.Cluster, held lock.Lock) {
	t.Helper()
	lease, err := c.Leases.Get(t.Context(), held.Name, metav1.GetOptions{})
	if err != nil || lock.FromLease(lease).ID() != held.ID() {
		t.Fatalf("the lock is %+v, error %v; want it held by %s", lease, err, held.ID())
	}
}

func TestForeignLockIsReleasedWithItsID(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	held := lock.FromLease(killed(t, c))
	p := operator(t, c)
	p.run(t, "lock", "release", "--suffix", c.Suffix, "--foreign", "--id", held.ID()).want(t, 0, "released the lock "+held.ID())
	p.run(t, "lock", "show", "TerraformMachine/"+c.Object.Name, "-o", "yaml").want(t, 0, "verdict: Free")
}

func TestLockWithAnEmptyHolderIsRepaired(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: naming.LockLease(c.Suffix)}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new(string)}}
	if _, err := c.Leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := operator(t, c)
	p.run(t, "lock", "show", "tm/worker-0").want(t, 0, "the empty string", "repair it: captf lock release")
	p.run(t, "lock", "release", "tm/worker-0").want(t, 0)
	lease, err := c.Leases.Get(t.Context(), lease.Name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity != nil {
		t.Errorf("holder %v, error %v; want none", lease.Spec.HolderIdentity, err)
	}
}
