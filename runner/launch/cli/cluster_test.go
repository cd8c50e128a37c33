package cli

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// A state that has lost the label of its cluster is not one outside any cluster.
func TestLostCluster(t *testing.T) {
	term := setUp(t)
	if err := term.kubelet.WriteState(t.Context(), 1, ""); err != nil {
		t.Fatal(err)
	}
	secrets := term.client.CoreV1().Secrets(term.namespace)
	base, err := secrets.Get(t.Context(), naming.StateSecret(naming.Suffix(term.object), 0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(base.Labels, naming.LabelCluster)
	if _, err := secrets.Update(t.Context(), base, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	term.must(1, term.args("plan")...)
	term.says(term.err, "give --cluster-name")
	term.clear()
	term.must(4, term.args("plan", "--cluster-name", "prod")...)
	term.says(term.err, naming.LabelCluster+` is missing, want "prod"`)
}
