package launch

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
)

const someResource = `{"version":4,"terraform_version":"1.9.0","serial":2,"lineage":"l-1","outputs":{},"resources":[
	{"mode":"managed","type":"a","name":"b","provider":"provider[\"x/y/z\"]","instances":[{"schema_version":0,"attributes":{"id":"i-1"}}]}]}`

// loseState leaves an object whose Jobs and state are gone, and a backup of the document.
func (f *fixture) loseState(document string) {
	f.Helper()
	secrets := f.client.CoreV1().Secrets(f.object.id.Namespace)
	if err := f.kubelet.WriteState(f.Context(), 1, ""); err != nil {
		f.Fatal(err)
	}
	base, err := secrets.Get(f.Context(), naming.StateSecret(naming.Suffix(f.object.id), 0), metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var data bytes.Buffer
	z := gzip.NewWriter(&data)
	if _, err := z.Write([]byte(document)); err != nil {
		f.Fatal(err)
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	base.Data["tfstate"] = data.Bytes()
	if _, err := secrets.Update(f.Context(), base, metav1.UpdateOptions{}); err != nil {
		f.Fatal(err)
	}
	set, err := f.launcher.chunks().Gather(f.Context(), f.object.id)
	if err != nil {
		f.Fatal(err)
	}
	if _, _, err := f.launcher.backups().Take(f.Context(), set); err != nil {
		f.Fatal(err)
	}
	if err := secrets.Delete(f.Context(), base.Name, metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
}

// Nobody remembers an apply, but there is a copy with resources: nothing may begin anew, and nothing counts as destroyed.
func TestLostByItsCopies(t *testing.T) {
	f := setUp(t)
	f.loseState(someResource)
	for _, op := range []naming.Op{naming.Apply, naming.Plan, naming.Refresh, naming.Drift, naming.Destroy} {
		f.object.desired.Op = op
		r := f.expect(Refuse, "StateLost")
		if !strings.Contains(r.Decision.Message, "which has resources (1)") || r.Condition.Reason != "StateLost" || r.Gone {
			t.Errorf("%s: %q, condition %+v, gone %v", op, r.Decision.Message, r.Condition, r.Gone)
		}
	}
	f.object.desired = Desired{Op: naming.Restore, Restore: Restore{Set: f.secrets(naming.LabelBackup + "=true")[0]}}
	f.start()
}

// The copies of a destroyed object outlive it. They do not keep another one of its name from its first apply.
func TestDestroyedAndAnew(t *testing.T) {
	f := setUp(t)
	f.loseState(someResource)
	f.loseState(`{"version":4,"terraform_version":"1.9.0","serial":3,"lineage":"l-1","outputs":{},"resources":[]}`)
	f.finish(f.start(), jobtest.Succeeded)
}
