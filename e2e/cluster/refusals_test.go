//go:build e2e

package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// refusals are things that the API server does not allow, or does not allow any more.
func refusals() []fault {
	return []fault{
		{
			name: "quota of pods", variables: quick, template: deadline(10 * time.Second), ends: never, locks: free,
			prepare: quota("pods", "0"), repair: noQuota,
		},
		{
			name: "quota of Secrets", variables: quick, locks: free,
			prepare: quota("count/secrets", "1"), repair: noQuota,
			ends: func(e ending) bool { return e.exit > 0 && e.result != nil && e.result.Error != nil },
		},
		{
			// Nothing can be saved anywhere, but the result names what was made.
			name: "rights taken away", variables: slow, locks: stale, lost: true, template: impatient,
			hit:  func(t *testing.T, s *subject, _ *batchv1.Job) { s.withoutRights(t) },
			ends: unsaved(result.SavedLost),
			repair: func(t *testing.T, s *subject, job string) {
				s.rights(t)
				s.forgive(t, job)
			},
		},
		{
			name: "rights taken away, rescue directory", variables: slow, locks: stale,
			template: func(t *launch.Template) {
				impatient(t)
				rescueTo(dataDir)(t)
			},
			hit:  func(t *testing.T, s *subject, _ *batchv1.Job) { s.withoutRights(t) },
			ends: unsaved(result.SavedRescueDir),
			repair: func(t *testing.T, s *subject, job string) {
				s.rights(t)
				s.restoreRescued(t)
				s.forgive(t, job)
			},
		},
	}
}

// impatient makes a Job's runner give up soon.
func impatient(t *launch.Template) { t.LockTimeout = new(time.Second) }

func rescueTo(dir string) func(*launch.Template) {
	return func(t *launch.Template) { t.Env = append(t.Env, corev1.EnvVar{Name: "CAPTF_RESCUE_DIR", Value: dir}) }
}

// unsaved returns whether a run says that a person is needed, and where its state is.
func unsaved(where result.Saved) func(ending) bool {
	return func(e ending) bool {
		return e.exit == result.ExitPerson && e.result != nil && e.result.State != nil && e.result.State.Saved == where
	}
}

// quota limits what a namespace may have of something.
func quota(what, amount string) func(*testing.T, *subject) {
	return func(t *testing.T, s *subject) {
		t.Helper()
		quotas := s.client.CoreV1().ResourceQuotas(s.object.Namespace)
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "tight"}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourceName(what): resource.MustParse(amount)},
		}}
		if _, err := quotas.Create(t.Context(), q, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		poll(t, "the quota", func(ctx context.Context) (bool, error) {
			seen, err := quotas.Get(ctx, q.Name, metav1.GetOptions{})
			return err == nil && len(seen.Status.Hard) > 0, err
		})
	}
}

func noQuota(t *testing.T, s *subject, _ string) {
	t.Helper()
	if err := s.client.CoreV1().ResourceQuotas(s.object.Namespace).Delete(t.Context(), "tight", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// withoutRights takes the Role away while the second file is in the making, and waits until that is there.
func (s *subject) withoutRights(t *testing.T) {
	t.Helper()
	s.awaitSecond(t)
	if err := s.client.RbacV1().RoleBindings(s.object.Namespace).Delete(t.Context(), "captf-runner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, "the second file", func(context.Context) (bool, error) { return s.made("second"), nil })
}

func (s *subject) rights(t *testing.T) {
	t.Helper()
	kubectl(t, "-n", s.object.Namespace, "apply", "-f", deploy(t, "rbac.yaml"))
}

// forgive deletes a Job that could not save its state: as long as it is there, nothing is launched.
func (s *subject) forgive(t *testing.T, job string) {
	t.Helper()
	if l := <-s.launch(t, naming.Apply, quick, nil).failed; !strings.Contains(l.Error(), launch.ReasonStateUnsaved) {
		t.Errorf("a launch on top of a state that was not saved: %v", l)
	}
	kubectl(t, "-n", s.object.Namespace, "delete", "job", job)
}

// restoreRescued is what the runbook says: the state from the rescue directory goes back by a restore Job, which
// gets the stale lock handed down.
func (s *subject) restoreRescued(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.data, "*.tfstate"))
	if err != nil || len(files) != 1 {
		t.Fatalf("rescued states: %v, %v; want one", files, err)
	}
	state, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(state)
	_ = z.Close()
	backup := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-backup"}, Data: map[string][]byte{"tfstate": packed.Bytes()}}
	if _, err := s.client.CoreV1().Secrets(s.object.Namespace).Create(t.Context(), backup, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.render(t, quick)
	e := s.run(t, naming.Restore)
	if !succeeded(e) || handedDown(e) != string(result.OutcomeReleased) {
		t.Fatalf("the restore ended so: %s", e)
	}
}
