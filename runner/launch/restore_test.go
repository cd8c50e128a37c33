package launch

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// restores is an object with a backup that is to be restored.
func restores(t *testing.T) (f *fixture, backup string) {
	t.Helper()
	f = setUp(t)
	f.finish(f.start(), jobtest.Succeeded)
	backup = f.secrets(naming.LabelBackup + "=true")[0]
	f.object.desired = Desired{Op: naming.Restore, InputsHash: "h2:1", Tick: "1", Applied: true, Restore: Restore{Set: backup}}
	return f, backup
}

func TestPassRestores(t *testing.T) {
	f, backup := restores(t)
	name := f.start()
	job, err := f.client.BatchV1().Jobs(f.object.id.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name == "config" && v.Projected.Sources[1].Secret.Name != backup {
			t.Errorf("the pod restores %+v", v.Projected.Sources[1].Secret)
		}
	}
	f.finish(name, jobtest.Succeeded)
	f.expect(Idle, ReasonDone)
}

// A copy that cannot be restored is refused before anything is taken or written, again and again, and not an error.
func TestPassRefusesToRestore(t *testing.T) {
	tests := map[string]struct {
		spoil  func(f *fixture, backup string)
		reason string
		says   string
	}{
		"missing": {func(f *fixture, _ string) { f.object.desired.Restore.Set = "nothing" }, ReasonCopyNotFound, `no backup or rescue set "nothing"`},
		"of another lineage": {func(f *fixture, _ string) {
			f.must(f.kubelet.WriteState(f.Context(), 9, `{},"lineage":"l-2"`))
		}, ReasonCopyLineage, "l-1, the state that is there has l-2"},
		"of another lineage than asked for": {func(f *fixture, _ string) { f.object.desired.Restore.Lineage = "l-3" }, ReasonCopyLineage, "l-1, l-3 was asked for"},
		"changed":                           {func(f *fixture, backup string) { f.annotate(backup, naming.AnnotationDigest, "00") }, ReasonCopyUnusable, "its digest is"},
		"in part":                           {func(f *fixture, backup string) { f.annotate(backup, naming.AnnotationParts, "2") }, ReasonCopyUnusable, "1 of 2 secrets"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, backup := restores(t)
			tt.spoil(f, backup)
			for range 2 {
				if r := f.expect(Refuse, tt.reason); !strings.Contains(r.Decision.Message, tt.says) {
					t.Errorf("message %q lacks %q", r.Decision.Message, tt.says)
				}
			}
			if d, job, err := f.launcher.Preview(t.Context(), f.object); d.Reason != tt.reason || job != nil || err != nil {
				t.Errorf("preview: %+v, job %v, error %v", d, job, err)
			}
			if got := f.leases("captf.io/lease"); len(got) > 0 {
				t.Errorf("leases were taken: %v", got)
			}
		})
	}
}

// A person may ask for another lineage by name, and a state that cannot be read has none.
func TestPassRestoresOtherLineage(t *testing.T) {
	f, _ := restores(t)
	f.must(f.kubelet.WriteState(t.Context(), 9, `{},"lineage":"l-2"`))
	f.object.desired.Restore.Lineage = "l-1"
	f.finish(f.start(), jobtest.Succeeded)

	f.must(f.kubelet.WriteState(t.Context(), 9, "{"))
	f.object.desired.Restore.Lineage, f.object.desired.Tick = "", "2"
	if r := f.expect(Start, ReasonDue); r.Condition.Reason != string(state.Corrupt) {
		t.Errorf("condition %+v", r.Condition)
	}
}

// annotate changes what a Secret says about itself.
func (f *fixture) annotate(name, key, value string) {
	f.Helper()
	secrets := f.client.CoreV1().Secrets(f.object.id.Namespace)
	secret, err := secrets.Get(f.Context(), name, metav1.GetOptions{})
	f.must(err)
	secret.Annotations[key] = value
	_, err = secrets.Update(f.Context(), secret, metav1.UpdateOptions{})
	f.must(err)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}
