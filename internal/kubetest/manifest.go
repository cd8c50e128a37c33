package kubetest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/captf/captf-runner/internal/tools"
)

// ManifestRules returns the rules of each Role and ClusterRole in a file of deploy/, by its name. It fails if the file
// has anything else than those, a ServiceAccount and a binding of the two.
func ManifestRules(tb testing.TB, file string) map[string][]rbacv1.PolicyRule {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(tools.Root(tb), "deploy", file))
	if err != nil {
		tb.Fatal(err)
	}
	found := map[string][]rbacv1.PolicyRule{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var role rbacv1.ClusterRole
		err := decoder.Decode(&role)
		switch {
		case err == io.EOF:
			return found
		case err != nil:
			tb.Fatalf("%s: %v", file, err)
		case role.AggregationRule != nil:
			tb.Fatalf("%s: %s gets rules from other roles", file, role.Name)
		}
		switch role.Kind {
		case "Role", "ClusterRole":
			found[role.Name] = role.Rules
		case "ServiceAccount", "RoleBinding":
		default:
			tb.Fatalf("%s has a %s", file, role.Kind)
		}
	}
}
