package rbac

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
)

// controller makes passes over one object, as a ServiceAccount with some rights. The kubelet is played.
type controller struct {
	admin    *kubernetes.Clientset
	object   *thing
	launcher *launch.Launcher
	kubelet  jobtest.Kubelet
}

// thing is its object: a cluster, which takes both leases.
type thing struct {
	id      naming.Object
	desired launch.Desired
}

func (o *thing) Identity() naming.Object { return o.id }
func (o *thing) Reference() corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "x.io/v1", Kind: string(o.id.Kind), Name: o.id.Name, UID: "uid-1"}
}
func (o *thing) Desired() launch.Desired { return o.desired }
func (o *thing) Template() launch.Template {
	return launch.Template{Image: "module", RunnerImage: "runner"}
}
func (o *thing) Files(context.Context) (map[string][]byte, error) {
	return map[string][]byte{"main.tf.json": []byte("{}")}, nil
}

func newController(t *testing.T, granted []right) *controller {
	t.Helper()
	server := kubetest.Shared(t)
	namespace := server.Namespace(t)
	id := naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: "prod", Cluster: "prod"}
	own := client(t, server.Kubeconfig(t, namespace, rules(granted)))
	return &controller{
		admin: server.Clientset(), launcher: &launch.Launcher{Clients: launch.NewClients(own, namespace), Keep: 6},
		object:  &thing{id: id, desired: launch.Desired{Op: naming.Apply, InputsHash: "h2:1", Once: true, Tick: "1"}},
		kubelet: jobtest.Kubelet{Client: server.Clientset(), Object: id},
	}
}

// run makes passes until nothing is due any more, while Jobs end so. It is false when one was forbidden something, which
// its error has to name.
func (c *controller) run(t *testing.T, e jobtest.End) bool {
	t.Helper()
	for range 20 {
		r, err := c.launcher.Pass(t.Context(), c.object)
		switch {
		case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "):
			return false
		case err != nil:
			t.Fatal(err)
		case r.Created != "":
			must(t, c.kubelet.Run(t.Context(), r.Created, e))
		case r.Decision.Action == launch.Idle:
			return true
		}
	}
	t.Fatal("the passes come to no end")
	return false
}

func (c *controller) applies(t *testing.T) bool { return c.run(t, jobtest.Succeeded) }

// tells reports whether there are events. The passes go well in any case.
func (c *controller) tells(t *testing.T) bool {
	if !c.applies(t) {
		t.Error("an event that may not be sent is a reason to stop")
	}
	events, err := c.admin.CoreV1().Events(c.object.id.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=JobSucceeded"})
	must(t, err)
	return len(events.Items) > 0
}

// inherits has the lock of a pod that is gone handed down.
func (c *controller) inherits(t *testing.T) bool {
	must(t, c.kubelet.WriteState(t.Context(), 1, ""))
	must(t, c.kubelet.Lock(t.Context(), "id-1", "root@"+c.earlierJob(t)+"-abcde"))
	return c.applies(t)
}

// takesOver finds the run lease of a Job that was never created.
func (c *controller) takesOver(t *testing.T) bool {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: naming.RunLease(naming.Suffix(c.object.id)), Annotations: map[string]string{"captf.io/lease-acquired-at": "2026-01-01T00:00:00Z"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(c.earlierJob(t))},
	}
	_, err := c.admin.CoordinationV1().Leases(c.object.id.Namespace).Create(t.Context(), lease, metav1.CreateOptions{})
	must(t, err)
	return c.applies(t)
}

func (c *controller) earlierJob(t *testing.T) string {
	t.Helper()
	name, err := naming.JobName(c.object.id, naming.Apply, 1, "h2:0", "")
	must(t, err)
	return name
}

// learns books a Job whose pod is gone, and the result with it, unless a ConfigMap has it.
func (c *controller) learns(t *testing.T) bool {
	return c.run(t, jobtest.End{NoPod: true, Condition: "BackoffLimitExceeded"})
}

// prunes removes the oldest Jobs.
func (c *controller) prunes(t *testing.T) bool {
	for tick := range c.launcher.Keep + 1 {
		c.object.desired.Tick = fmt.Sprint(tick)
		if !c.applies(t) {
			return false
		}
	}
	return true
}

// rewrites finds the rendered root of a launcher that died before it created the Job.
func (c *controller) rewrites(t *testing.T) bool {
	whole := &launch.Launcher{Clients: launch.NewClients(c.admin, c.object.id.Namespace)}
	_, job, err := whole.Preview(t.Context(), c.object)
	must(t, err)
	config := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-config"}}
	_, err = c.admin.CoreV1().Secrets(c.object.id.Namespace).Create(t.Context(), config, metav1.CreateOptions{})
	must(t, err)
	return c.applies(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
