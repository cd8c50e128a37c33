package lock_test

import (
	"context"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// object is one whose lock and pods are in a real API server.
type object struct {
	naming.Object
	client kubernetes.Interface
}

func newObject(t *testing.T) object {
	t.Helper()
	server := kubetest.Shared(t)
	return object{naming.Object{Kind: naming.Machine, Namespace: server.Namespace(t), Name: "worker", Cluster: "prod"}, server.Clientset()}
}

func (o object) lease() string { return naming.LockLease(naming.Suffix(o.Object)) }

// pod is the name of a pod of the object's first apply.
func (o object) pod(t *testing.T) string {
	t.Helper()
	return must[string](t)(naming.JobName(o.Object, naming.Apply, 1, "h2:x", "")) + "-x7k2p"
}

// check judges the lock with what a client may read.
func (o object) check(ctx context.Context, client kubernetes.Interface) (lock.Finding, error) {
	owns := func(pod string) bool { return naming.OwnsPod(o.Object, pod) }
	pods := launch.NewClients(client, o.Namespace).Phase
	return lock.Check(ctx, client.CoordinationV1().Leases(o.Namespace), o.lease(), owns, pods)
}

// hold makes the lock Lease. Its name and version are those of this object and of the server.
func (o object) hold(t *testing.T, lease *coordinationv1.Lease) {
	t.Helper()
	lease.Name, lease.ResourceVersion = o.lease(), ""
	must[*coordinationv1.Lease](t)(o.client.CoordinationV1().Leases(o.Namespace).Create(t.Context(), lease, metav1.CreateOptions{}))
}

// run makes a pod in a phase. One that terminates is held by a finalizer, as no kubelet is there to end it.
func (o object) run(t *testing.T, namespace, name string, phase corev1.PodPhase, terminating bool) {
	t.Helper()
	pods := o.client.CoreV1().Pods(namespace)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "example.test/none"}}},
	}
	if terminating {
		pod.Finalizers = []string{"example.test/held"}
	}
	pod = must[*corev1.Pod](t)(pods.Create(t.Context(), pod, metav1.CreateOptions{}))
	pod.Status.Phase = phase
	must[*corev1.Pod](t)(pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))
	if terminating {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckLive gathers each verdict from a real API server.
func TestCheckLive(t *testing.T) {
	const other, gone = "captf-m-other-apply-a1-0a1b2c-x7k2p", corev1.PodPhase("")
	for name, test := range map[string]struct {
		host        string // of the holder; the object's own pod when empty
		change      func(*coordinationv1.Lease)
		phase       corev1.PodPhase // of the pod of that name
		terminating bool
		elsewhere   bool // the pod is in another namespace
		want        lock.Verdict
		pod         lock.PodPhase
	}{
		"no holder":    {change: func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, phase: corev1.PodRunning, want: lock.Free},
		"empty holder": {change: func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "" }, phase: corev1.PodRunning, want: lock.Free},

		"pending":             {phase: corev1.PodPending, want: lock.Alive, pod: lock.PodPending},
		"running":             {phase: corev1.PodRunning, want: lock.Alive, pod: lock.PodRunning},
		"running for 30 days": {change: monthOld, phase: corev1.PodRunning, want: lock.Alive, pod: lock.PodRunning}, // cases.md 6
		"node out of reach":   {phase: corev1.PodUnknown, want: lock.Alive, pod: lock.PodUnknown},
		"terminating":         {phase: corev1.PodRunning, terminating: true, want: lock.Alive, pod: lock.PodRunning},
		"succeeded":           {phase: corev1.PodSucceeded, want: lock.Stale, pod: lock.PodSucceeded},
		"failed":              {phase: corev1.PodFailed, want: lock.Stale, pod: lock.PodFailed},
		"gone":                {phase: gone, want: lock.Stale, pod: lock.PodNotFound},
		"in another place":    {phase: corev1.PodRunning, elsewhere: true, want: lock.Stale, pod: lock.PodNotFound},
		"workstation":         {host: "laptop", want: lock.Foreign},
		"other object's":      {host: other, phase: corev1.PodFailed, want: lock.Foreign},
		"other object's gone": {host: other, want: lock.Foreign},
		"no lock info":        {change: func(l *coordinationv1.Lease) { l.Annotations = nil }, want: lock.Foreign},
		"not lock info":       {change: func(l *coordinationv1.Lease) { l.Annotations[lock.InfoAnnotation] = "{" }, want: lock.Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newObject(t)
			host, namespace := test.host, o.Namespace
			if host == "" {
				host = o.pod(t)
			}
			if test.elsewhere {
				namespace = kubetest.Shared(t).Namespace(t)
			}
			if test.phase != gone {
				o.run(t, namespace, host, test.phase, test.terminating)
			}
			lease := held(lockID, host)
			if test.change != nil {
				test.change(lease)
			}
			o.hold(t, lease)
			found := must[lock.Finding](t)(o.check(t.Context(), o.client))
			if found.Verdict != test.want || found.Pod != test.pod {
				t.Errorf("verdict %s by pod %q, want %s by %q", found.Verdict, found.Pod, test.want, test.pod)
			}
			if found.Lock.Held() && found.Lock.Version() == "none" {
				t.Error("a lock that is held has no version")
			}
		})
	}
	t.Run("no Lease", func(t *testing.T) {
		o := newObject(t)
		found := must[lock.Finding](t)(o.check(t.Context(), o.client))
		if found.Verdict != lock.Free || found.Lock.Version() != "none" {
			t.Errorf("%+v, want it free, and never taken", found)
		}
	})
}

// monthOld makes the lock of held a month older than it is.
func monthOld(lease *coordinationv1.Lease) {
	lease.Annotations[lock.InfoAnnotation] = strings.Replace(lease.Annotations[lock.InfoAnnotation], "2026-11-30", "2026-10-31", 1)
}

// TestCheckLiveAborts has a server that does not say that the pod is gone: then nothing is.
func TestCheckLiveAborts(t *testing.T) {
	o := newObject(t)
	o.hold(t, held(lockID, o.pod(t)))
	rule := func(group, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get"}}
	}
	for name, test := range map[string]struct {
		rule rbacv1.PolicyRule
		says string
	}{
		"pods may not be read":   {rule("coordination.k8s.io", "leases"), "read the holder's pod " + o.pod(t)},
		"leases may not be read": {rule("", "pods"), "get lease " + o.lease()},
	} {
		config := kubetest.Shared(t).Kubeconfig(t, o.Namespace, []rbacv1.PolicyRule{test.rule})
		found, err := o.check(t.Context(), clientOf(t, config))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.says) || found.Verdict != "" {
			t.Errorf("%s: verdict %q, error %v", name, found.Verdict, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no answer comes
	if found, err := o.check(ctx, o.client); err == nil || found.Verdict != "" {
		t.Errorf("no answer: verdict %q, error %v", found.Verdict, err)
	}
}

func clientOf(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
