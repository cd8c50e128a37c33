package kubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestRunnerRules asks the server about every verb on what a runner could touch.
func TestRunnerRules(t *testing.T) {
	s := Shared(t)
	namespace := s.Namespace(t)
	client := clientOf(t, s.Kubeconfig(t, namespace, s.RunnerRules()))
	resources := []authorizationv1.ResourceAttributes{
		{Resource: "secrets"}, {Resource: "configmaps"}, {Resource: "events"}, {Resource: "pods"}, {Resource: "serviceaccounts"},
		{Group: "coordination.k8s.io", Resource: "leases"}, {Group: "batch", Resource: "jobs"}, {Group: "rbac.authorization.k8s.io", Resource: "roles"},
	}
	var got []string
	for _, asked := range resources {
		var verbs []string
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
			asked.Namespace, asked.Verb = namespace, verb
			if allowed(t, client, asked) {
				verbs = append(verbs, verb)
			}
		}
		got = append(got, fmt.Sprint(asked.Resource, verbs))
	}
	want := []string{
		"secrets[get list create update delete]", "configmaps[create]", "events[create]", "pods[]", "serviceaccounts[]",
		"leases[get create update]", "jobs[]", "roles[]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the runner may do (-want +got):\n%s", diff)
	}
	if allowed(t, client, authorizationv1.ResourceAttributes{Namespace: s.Namespace(t), Verb: "get", Resource: "secrets"}) {
		t.Error("the runner may get Secrets of another namespace")
	}
}

func allowed(t *testing.T, client kubernetes.Interface, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

func TestNamedRule(t *testing.T) {
	s := Shared(t)
	namespace := s.Namespace(t)
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"mine"}, Verbs: []string{"get"}}}
	secrets := clientOf(t, s.Kubeconfig(t, namespace, rules)).CoreV1().Secrets(namespace)
	if _, err := secrets.Get(t.Context(), "mine", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get of an allowed Secret: %v; want NotFound", err)
	}
	if _, err := secrets.Get(t.Context(), "other", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("get of another Secret: %v; want Forbidden", err)
	}
}

// TestAwaitRule grants a rule while awaitRule waits for it.
func TestAwaitRule(t *testing.T) {
	s := Shared(t)
	namespace := s.Namespace(t)
	account, err := s.account(t.Context(), namespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := s.RunnerRules()
	var granting atomic.Bool
	granted := make(chan error, 1)
	go func() {
		time.Sleep(10 * poll)
		granting.Store(true)
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: rules}
		_, err := s.client.RbacV1().Roles(namespace).Update(t.Context(), role, metav1.UpdateOptions{})
		granted <- err
	}()
	if err := s.awaitRule(t.Context(), namespace, account, rules[0]); err != nil {
		t.Fatal(err)
	}
	if !granting.Load() {
		t.Error("it returned before the rule was granted")
	}
	if err := <-granted; err != nil {
		t.Fatal(err)
	}
}

func TestKubeconfigIsComplete(t *testing.T) {
	s := Shared(t)
	namespace := s.Namespace(t)
	path := s.Kubeconfig(t, namespace, nil)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "certificate-authority-data: ") || !strings.Contains(string(text), "namespace: "+namespace+"\n") {
		t.Errorf("the kubeconfig lacks the certificate or the namespace:\n%s", text)
	}
	_, err = clientOf(t, path).CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: generated}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("create without any rule: %v; want Forbidden", err)
	}
}

func TestServiceAccountDir(t *testing.T) {
	s := Shared(t)
	namespace := s.Namespace(t)
	dir := s.ServiceAccountDir(t, namespace, s.RunnerRules())
	config := &rest.Config{
		Host:            s.Config().Host,
		BearerTokenFile: filepath.Join(dir, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.crt")},
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if group := "system:serviceaccounts:" + namespace; !slices.Contains(self.Status.UserInfo.Groups, group) {
		t.Errorf("the token is of %+v; want group %s", self.Status.UserInfo, group)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "namespace")); err != nil || string(got) != namespace {
		t.Errorf("the namespace file has %q, %v; want %q", got, err, namespace)
	}
}

func TestNamespacesAreFresh(t *testing.T) {
	s := Shared(t)
	if first, second := s.Namespace(t), s.Namespace(t); first == second {
		t.Errorf("two calls gave the same namespace %s", first)
	}
}

func clientOf(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no rate limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
