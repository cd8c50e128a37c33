package naming

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestBackendConfig(t *testing.T) {
	o := Object{Kind: Machine, Namespace: "team-a", Name: "worker-0", Cluster: "prod"}
	got, err := BackendConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"secret_suffix=" + Suffix(o),
		"namespace=team-a",
		"in_cluster_config=true",
		`labels={"captf.infrastructure.cluster.x-k8s.io/owner-kind"="TerraformMachine",` +
			`"captf.infrastructure.cluster.x-k8s.io/owner-name"="worker-0","captf.io/managed"="true",` +
			`"cluster.x-k8s.io/cluster-name"="prod","clusterctl.cluster.x-k8s.io/move"=""}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	labels, err := Labels(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(labels, evalMap(t, strings.TrimPrefix(got[3], "labels="))); diff != "" {
		t.Errorf("labels as the runtime reads them (-want +got)\n%s", diff)
	}
}

func TestBackendConfigRefuses(t *testing.T) {
	_, err := BackendConfig(Object{Kind: Machine, Namespace: "n", Name: "x", Cluster: `a,b="c"`})
	wantError(t, err, `is not a label value`)
	_, err = Labels(Object{Kind: Machine, Namespace: "a.b", Name: "x"})
	wantError(t, err, `namespace "a.b"`)
}

func TestLabelsOfLongNames(t *testing.T) {
	long := strings.Repeat("a", 64)
	got, err := Labels(Object{Kind: Cluster, Namespace: "n", Name: long, Cluster: long[:63]})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		LabelOwnerKind: "TerraformCluster",
		LabelOwnerName: "ffe054fe7ae0cb6d", // sha256sum
		LabelCluster:   long[:63],
		LabelManaged:   "true",
		LabelMove:      "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLabelValue(t *testing.T) {
	for _, ok := range []string{"", "a", "A_b.c-9", "Z", strings.Repeat("a", 63)} {
		if got, err := LabelValue(ok); got != ok || err != nil {
			t.Errorf("LabelValue(%q) = %q, %v", ok, got, err)
		}
	}
	for _, bad := range []string{"-a", "a-", ".", "a b", "a\n", "ä", "${a}", strings.Repeat("a", 64) + "/"} {
		if got, err := LabelValue(bad); err == nil {
			t.Errorf("LabelValue(%q) = %q, want an error", bad, got)
		}
	}
}

// A map that the backend gets reads back as the same map, whatever is in it.
func FuzzHCLMap(f *testing.F) {
	f.Add("k", `a,b="c"`)
	f.Add("a.io/b", "${x} $${y} %{if z} %%{ $ % $$ {")
	f.Add("", "line\nbreak\ttab\\ \x00\x1f\x7f\r")
	f.Add("%", "$")
	f.Fuzz(func(t *testing.T, k, v string) {
		if !isASCII(k + v) {
			return // HCL normalises the rest, and no label may hold it
		}
		m := map[string]string{k: v, "fixed": "x"}
		if diff := cmp.Diff(m, evalMap(t, hclMap(m))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", hclMap(m), diff)
		}
	})
}

// evalMap reads an HCL object as the runtimes read a value of -backend-config.
func evalMap(t *testing.T, src string) map[string]string {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(src), "flag", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", src, diags)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", src, diags)
	}
	m := map[string]string{}
	for k, v := range v.AsValueMap() {
		m[k] = v.AsString()
	}
	return m
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
