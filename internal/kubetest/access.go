package kubetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// RunnerRules returns the Role of a Job's ServiceAccount: all that spec/state-and-locks.md allows the runner.
func (*Server) RunnerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "update", "delete"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		{APIGroups: []string{""}, Resources: []string{"events", "configmaps"}, Verbs: []string{"create"}},
	}
}

// Namespace makes a namespace and returns its name. It stays: no controller is there that could empty it.
func (s *Server) Namespace(tb testing.TB) string {
	tb.Helper()
	namespace := &corev1.Namespace{ObjectMeta: generated}
	made, err := s.client.CoreV1().Namespaces().Create(tb.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	return made.Name
}

// Kubeconfig returns the path of a kubeconfig for a new ServiceAccount that may do what the rules
// say in its namespace, and nothing else. The certificate and the token (of an hour) are inside it.
func (s *Server) Kubeconfig(tb testing.TB, namespace string, rules []rbacv1.PolicyRule) string {
	tb.Helper()
	const name = "kubetest"
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: s.url(), CertificateAuthorityData: s.pki.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: s.token(tb, namespace, rules)}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: namespace}},
		CurrentContext: name,
	}
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(config, path); err != nil {
		tb.Fatalf("write %s: %v", path, err)
	}
	return path
}

// ServiceAccountDir returns a directory with the files token, ca.crt and namespace that a pod of a new
// ServiceAccount with these rules has mounted.
func (s *Server) ServiceAccountDir(tb testing.TB, namespace string, rules []rbacv1.PolicyRule) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range map[string]string{
		"token": s.token(tb, namespace, rules), "ca.crt": string(s.pki.ca), "namespace": namespace,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// token returns the token of a new ServiceAccount, once its rules are in force.
func (s *Server) token(tb testing.TB, namespace string, rules []rbacv1.PolicyRule) string {
	tb.Helper()
	ctx := tb.Context()
	account, err := s.account(ctx, namespace, rules)
	if err != nil {
		tb.Fatalf("make a ServiceAccount in %s: %v", namespace, err)
	}
	if len(rules) > 0 {
		if err := s.awaitRule(ctx, namespace, account, rules[0]); err != nil {
			tb.Fatalf("wait for the Role of ServiceAccount %s/%s: %v", namespace, account, err)
		}
	}
	request, err := s.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("request a token for ServiceAccount %s/%s: %v", namespace, account, err)
	}
	return request.Status.Token
}

// generated has the server choose a name.
var generated = metav1.ObjectMeta{GenerateName: "test-"}

// account makes a ServiceAccount, a Role and a binding of the two.
func (s *Server) account(ctx context.Context, namespace string, rules []rbacv1.PolicyRule) (string, error) {
	account, err := s.client.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: generated}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	meta := metav1.ObjectMeta{Name: account.Name}
	rbac := s.client.RbacV1()
	_, err = rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	_, err = rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
	}, metav1.CreateOptions{})
	return account.Name, err
}

// awaitRule waits until the authorizer, which learns of a Role by a watch, allows the first thing that a
// rule of it allows.
func (s *Server) awaitRule(ctx context.Context, namespace, account string, rule rbacv1.PolicyRule) error {
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	attributes := &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
	}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account), ResourceAttributes: attributes,
	}}
	return wait.PollUntilContextTimeout(ctx, poll, ruleTimeout, true, func(ctx context.Context) (bool, error) {
		answer, err := s.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed, err
	})
}
