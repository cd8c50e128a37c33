package cli

import (
	"strings"
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
	term.says(term.err, naming.LabelCluster+` is missing, want "prod"`, "-n "+term.namespace+" --cluster-name prod says what to do")
}

// A state that is made anew has to have the labels of the one that was lost: its Jobs name the cluster, else its copies.
func TestClusterOfALostState(t *testing.T) {
	term := setUp(t)
	term.object = naming.Object{Kind: naming.Machine, Namespace: term.namespace, Name: "w", Cluster: "main"}
	term.kubelet.Object = term.object
	code := term.begin("apply", "tm/w", "--image", "module", "-f", term.dir, "--cluster-name", "main")
	term.end(applied())
	term.code(code, 0)
	secrets, suffix := term.client.CoreV1().Secrets(term.namespace), naming.Suffix(term.object)
	if err := secrets.Delete(t.Context(), naming.StateSecret(suffix, 0), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"the Job", "the copies"} {
		term.clear()
		term.must(0, "restore", "tm/w", "--image", "module", "--backup", naming.BackupSecret(suffix, 1, 0), "--dry-run")
		if !strings.Contains(term.out.String(), "\n    "+naming.LabelCluster+": main\n") {
			t.Errorf("by %s the restored state would not be in the cluster:\n%s", by, term.out)
		}
		background := metav1.DeletePropagationBackground
		for _, j := range term.jobs() {
			if err := term.client.BatchV1().Jobs(term.namespace).Delete(t.Context(), j.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A name that is too long for a label is told by the Job all the same.
func TestAttachToALongName(t *testing.T) {
	term := setUp(t)
	term.object = naming.Object{Kind: naming.Machine, Namespace: term.namespace, Name: strings.Repeat("long-", 20) + "x"}
	term.kubelet.Object = term.object
	term.must(0, "apply", "tm/"+term.object.Name, "--image", "module", "-f", term.dir, "--detach")
	code := term.begin("attach", strings.TrimSpace(term.out.String()))
	term.end(applied())
	term.code(code, 0)
}

// A Job that runs needs nobody to be waited for.
func TestPreviewBesideAJob(t *testing.T) {
	term := setUp(t)
	term.must(0, term.args("apply", "--detach")...)
	term.must(3, term.args("plan", "--dry-run")...)
	term.says(term.err, "no job would be created: JobRunning")
}
