package launch

import (
	"context"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// fleet makes n objects whose locks are by turns free, held by a pod that runs, by one that is gone, and by a person.
func fleet(tb testing.TB, n int) (*fixture, []naming.Object) {
	tb.Helper()
	server := kubetest.Shared(tb)
	f := newFixture(tb, server.Clientset(), server.Namespace(tb), "w")
	objects := make([]naming.Object, n)
	for i := range objects {
		o := naming.Object{Kind: naming.Machine, Namespace: f.object.id.Namespace, Name: fmt.Sprintf("w%d", i), Cluster: "prod"}
		objects[i] = o
		job, err := naming.JobName(o, naming.Apply, 1, "h2:1", "")
		if err != nil {
			tb.Fatal(err)
		}
		if who := []string{"", "root@" + job + "-abcde", "root@" + job + "-abcde", "me@laptop"}[i%4]; who != "" {
			f.hold(o, who)
		}
		if i%4 == 1 {
			f.runPod(o, job+"-abcde")
		}
	}
	return f, objects
}

func (f *fixture) hold(o naming.Object, who string) {
	f.Helper()
	owned, err := naming.Labels(o)
	if err != nil {
		f.Fatal(err)
	}
	id := "id-" + o.Name
	_, err = f.client.CoordinationV1().Leases(o.Namespace).Create(f.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: naming.LockLease(naming.Suffix(o)), Labels: owned,
			Annotations: map[string]string{lock.InfoAnnotation: fmt.Sprintf(`{"ID":%q,"Who":%q}`, id, who)},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &id},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) runPod(o naming.Object, name string) {
	f.Helper()
	owned, err := labels(o)
	if err != nil {
		f.Fatal(err)
	}
	_, err = f.client.CoreV1().Pods(o.Namespace).Create(f.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: with(owned, LabelOp, "apply")},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "runner", Image: "module"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	f, objects := fleet(t, 8)
	found, err := Sweep(t.Context(), f.launcher.Clients, objects)
	if err != nil {
		t.Fatal(err)
	}
	var got []lock.Verdict
	for _, o := range objects {
		got = append(got, found[o].Verdict)
	}
	want := []lock.Verdict{lock.Free, lock.Alive, lock.Stale, lock.Foreign, lock.Free, lock.Alive, lock.Stale, lock.Foreign}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// 1,000 objects: three quarters have a lock that is held, a quarter a pod that runs.
func BenchmarkSweep(b *testing.B) {
	f, objects := fleet(b, 1000)
	m, client := newMortal(b, 1<<30, false)
	clients := NewClients(client, f.object.id.Namespace)
	for b.Loop() {
		if _, err := Sweep(context.Background(), clients, objects); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(m.Calls()))/float64(b.N), "requests/op")
}
