package rbac

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/captf/captf-runner/internal/kubetest"
)

// right is one verb on one resource.
type right struct{ group, resource, verb string }

func (r right) String() string { return r.verb + " " + r.resource }

// role is the Role of deploy/rbac.yaml. Nothing else there grants something.
func role(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	roles := kubetest.ManifestRules(t, "rbac.yaml")
	if len(roles) != 1 {
		t.Fatalf("%d roles, want one: %v", len(roles), roles)
	}
	return roles["captf-runner"]
}

// rights are the single rights of rules.
func rights(rules []rbacv1.PolicyRule) (all []right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	return all
}

// rules are the rules for rights.
func rules(all []right) (rules []rbacv1.PolicyRule) {
	for _, r := range all {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}})
	}
	return rules
}

func without(all []right, gone right) []right {
	return slices.DeleteFunc(slices.Clone(all), func(r right) bool { return r == gone })
}

// TestManifestIsTheRole compares the manifest with the Role that all other tests give the runner.
func TestManifestIsTheRole(t *testing.T) {
	if diff := cmp.Diff((*kubetest.Server)(nil).RunnerRules(), role(t)); diff != "" {
		t.Errorf("rights (-tested +in deploy/rbac.yaml):\n%s", diff)
	}
}
