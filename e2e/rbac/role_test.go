package rbac

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
)

// right is one verb on one resource.
type right struct{ group, resource, verb string }

func (r right) String() string { return r.verb + " " + r.resource }

// role reads the Role of deploy/rbac.yaml, and fails if anything else there grants something.
func role(t *testing.T) rbacv1.Role {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tools.Root(t), "deploy", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var roles []rbacv1.Role
	kinds := map[string]int{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var r rbacv1.Role
		if err := decoder.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind]++
		if r.Kind == "Role" {
			roles = append(roles, r)
		}
	}
	if diff := cmp.Diff(map[string]int{"ServiceAccount": 1, "Role": 1, "RoleBinding": 1}, kinds); diff != "" {
		t.Fatalf("kinds of objects (-want +got):\n%s", diff)
	}
	return roles[0]
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
	if diff := cmp.Diff((*kubetest.Server)(nil).RunnerRules(), role(t).Rules); diff != "" {
		t.Errorf("rights (-tested +in deploy/rbac.yaml):\n%s", diff)
	}
}
