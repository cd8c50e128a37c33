package rbac

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/tools"
)

// proofs say, for each right, what is not there when a run does not have it.
var proofs = map[string]func(t *testing.T, j *job) bool{
	"get secrets":       applied,
	"list secrets":      applied,
	"create secrets":    applied,
	"update secrets":    applied,
	"delete secrets":    shrunk,
	"get leases":        applied,
	"create leases":     applied,
	"update leases":     applied,
	"create events":     told,
	"create configmaps": kept,
}

// TestEveryRightIsNeeded takes each right of the Role away, alone: what it is for does not work any more.
func TestEveryRightIsNeeded(t *testing.T) {
	all := rights(role(t))
	if len(all) != len(proofs) {
		t.Errorf("%d rights in the Role, %d proofs", len(all), len(proofs))
	}
	for _, r := range all {
		proof := proofs[r.String()]
		if proof == nil {
			t.Errorf("no proof that the right to %s is needed", r)
			continue
		}
		for _, runtime := range tools.Runtimes(t) {
			t.Run("without "+r.String()+"/"+runtime.Name, func(t *testing.T) {
				if proof(t, newJob(t, runtime, without(all, r))) {
					t.Errorf("it works without the right to %s", r)
				}
			})
		}
	}
}

// TestTheRoleIsEnough runs the same with all rights.
func TestTheRoleIsEnough(t *testing.T) {
	all := rights(role(t))
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) {
			j := newJob(t, runtime, all)
			for name, proof := range map[string]func(t *testing.T, j *job) bool{"apply": applied, "events": told, "result": kept, "chunks": shrunk} {
				if !proof(t, j) {
					t.Errorf("%s: it does not work with the whole Role", name)
				}
			}
		})
	}
}

// applied reports whether an apply ends well and leaves a state. One that does not has to say which right it lacks.
func applied(t *testing.T, j *job) bool {
	o := j.apply(t, 1)
	states, err := j.server.Clientset().CoreV1().Secrets(j.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "tfstate=true"})
	if err != nil {
		t.Fatal(err)
	}
	if o.code == 0 {
		return len(states.Items) == 1 && len(states.Items[0].Data["tfstate"]) > 0
	}
	if !strings.Contains(o.text, "cannot ") || !strings.Contains(o.text, " resource ") {
		t.Errorf("the run does not say which right it lacks:\n%s", o.text)
	}
	return false
}

// told reports whether a run is seen in the Job's events. It ends well in any case.
func told(t *testing.T, j *job) bool {
	if o := j.apply(t, 1); o.code != 0 {
		t.Errorf("exit %d, want 0: events are no reason to fail\n%s", o.code, o.text)
	}
	events, err := j.server.Clientset().CoreV1().Events(j.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=RunFinished"})
	if err != nil {
		t.Fatal(err)
	}
	return len(events.Items) > 0
}

// kept reports whether a result that is too large for a termination message is in a ConfigMap. The run ends
// well in any case.
func kept(t *testing.T, j *job) bool {
	j.write(t, "key", strings.Repeat("k", 32))
	j.write(t, "config/main.tf", manyResources(200))
	o := j.run(t, "--op=plan", "--lock-timeout=0", "--config="+j.dir+"/config", "--module="+j.dir+"/config", "--plan-key-file="+j.dir+"/key")
	if o.code != 0 {
		t.Errorf("exit %d, want 0: a result that is cut is no reason to fail\n%s", o.code, o.text)
	}
	_, err := j.server.Clientset().CoreV1().ConfigMaps(j.namespace).Get(t.Context(), j.object.Name+"-result", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// shrunk deletes a chunk as the backend of Terraform 1.9 and later does when a state has become smaller. The pinned
// runtimes never split a state, so the request is made here.
func shrunk(t *testing.T, j *job) bool {
	const chunk = "tfstate-default-demo-part-1"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: chunk}}
	if _, err := j.server.Clientset().CoreV1().Secrets(j.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := j.client(t).CoreV1().Secrets(j.namespace).Delete(t.Context(), chunk, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	return err == nil
}

// client is one with the run's own rights.
func (j *job) client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	return client(t, j.kubeconfig)
}

func client(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestNothingMoreIsGranted asks the API server itself about what a runner must never do.
func TestNothingMoreIsGranted(t *testing.T) {
	granted := rights(role(t))
	j := newJob(t, tools.Runtimes(t)[0], granted)
	client, allowed := j.client(t), 0
	resources := map[string][]string{
		"":                    {"secrets", "configmaps", "events", "pods", "pods/exec", "pods/log", "serviceaccounts", "serviceaccounts/token", "namespaces", "nodes"},
		"coordination.k8s.io": {"leases"}, "batch": {"jobs"}, "apps": {"deployments"}, "rbac.authorization.k8s.io": {"roles", "rolebindings"},
	}
	for group, names := range resources {
		for _, resource := range names {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
				r := right{group, resource, verb}
				want := len(without(granted, r)) < len(granted)
				if got := may(t, client, j.namespace, r); got != want {
					t.Errorf("may %s: %v, want %v", r, got, want)
				}
				if may(t, client, "default", r) {
					t.Errorf("may %s in another namespace", r)
				}
				if want {
					allowed++
				}
			}
		}
	}
	if allowed != len(granted) {
		t.Errorf("%d of the %d rights of the Role were looked at", allowed, len(granted))
	}
}

func may(t *testing.T, client *kubernetes.Clientset, namespace string, r right) bool {
	t.Helper()
	resource, subresource, _ := strings.Cut(r.resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
