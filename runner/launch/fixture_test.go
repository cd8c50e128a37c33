package launch

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/naming"
)

// thing is an object as a controller would have it.
type thing struct {
	id       naming.Object
	uid      types.UID
	desired  Desired
	template Template
	files    map[string][]byte
}

func (o *thing) Identity() naming.Object { return o.id }
func (o *thing) Reference() corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "x.io/v1", Kind: string(o.id.Kind), Name: o.id.Name, UID: o.uid}
}
func (o *thing) Desired() Desired                                 { return o.desired }
func (o *thing) Template() Template                               { return o.template }
func (o *thing) Files(context.Context) (map[string][]byte, error) { return o.files, nil }

// fixture is one object in a namespace, and everything that works on it.
type fixture struct {
	testing.TB
	client   kubernetes.Interface
	object   *thing
	kubelet  jobtest.Kubelet
	launcher *Launcher
}

func newFixture(t testing.TB, client kubernetes.Interface, namespace, name string) *fixture {
	t.Helper()
	id := naming.Object{Kind: naming.Machine, Namespace: namespace, Name: name, Cluster: "prod"}
	return &fixture{
		TB: t, client: client, kubelet: jobtest.Kubelet{Client: client, Object: id}, launcher: &Launcher{Clients: NewClients(client, namespace)},
		object: &thing{
			id: id, uid: types.UID("uid-" + name), desired: Desired{Op: naming.Apply, InputsHash: "h2:1"},
			template: Template{Image: "module", RunnerImage: "runner"},
			files:    map[string][]byte{"main.tf.json": []byte("{}")},
		},
	}
}

func setUp(t testing.TB) *fixture {
	t.Helper()
	server := kubetest.Shared(t)
	return newFixture(t, server.Clientset(), server.Namespace(t), "worker")
}

// pass makes one pass that must succeed.
func (f *fixture) pass() Report {
	f.Helper()
	r, err := f.launcher.Pass(f.Context(), f.object)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// expect makes a pass that must come to this action and reason.
func (f *fixture) expect(action Action, reason string) Report {
	f.Helper()
	r := f.pass()
	if r.Decision.Action != action || r.Decision.Reason != reason {
		f.Fatalf("the pass came to %s %s (%s), want %s %s", r.Decision.Action, r.Decision.Reason, r.Decision.Message, action, reason)
	}
	return r
}

// start makes a pass that must create a Job, and returns its name.
func (f *fixture) start() string {
	f.Helper()
	r := f.expect(Start, ReasonDue)
	if r.Created == "" {
		f.Fatal("the pass created no Job")
	}
	return r.Created
}

// finish ends a Job, and makes the pass that books it.
func (f *fixture) finish(job string, e jobtest.End) Run {
	f.Helper()
	if err := f.kubelet.Run(f.Context(), job, e); err != nil {
		f.Fatal(err)
	}
	r := f.expect(Book, ReasonFinished)
	if len(r.Booked) != 1 || r.Booked[0].Name != job {
		f.Fatalf("booked %v, want %s alone", r.Booked, job)
	}
	return r.Booked[0]
}

func (f *fixture) jobs() []Run {
	f.Helper()
	runs, err := f.launcher.Clients.runs(f.Context(), f.object.id)
	if err != nil {
		f.Fatal(err)
	}
	return runs
}

// events counts the object's events by reason.
func (f *fixture) events() map[string]int {
	f.Helper()
	list, err := f.client.CoreV1().Events(f.object.id.Namespace).List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range list.Items {
		if e.InvolvedObject.UID == f.object.uid || e.InvolvedObject.Kind == "Job" {
			counts[e.Reason]++
		}
	}
	return counts
}

// secrets are the names of the namespace's Secrets that the selector finds.
func (f *fixture) secrets(selector string) []string {
	f.Helper()
	list, err := f.client.CoreV1().Secrets(f.object.id.Namespace).List(f.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, s := range list.Items {
		names = append(names, s.Name)
	}
	return names
}

func (f *fixture) leases(selector string) []string {
	f.Helper()
	list, err := f.client.CoordinationV1().Leases(f.object.id.Namespace).List(f.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, l := range list.Items {
		names = append(names, l.Name)
	}
	return names
}

// configMap writes a document as a runner does.
func (f *fixture) configMap(name, key, document string) {
	f.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: document}}
	if _, err := f.client.CoreV1().ConfigMaps(f.object.id.Namespace).Create(f.Context(), cm, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}
