package e2e

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// TestFence has a write of a dead run that comes late: it was made upon the state that was there when the run died. It is
// accepted until a run releases the lock of the dead one, and refused from then on.
func TestFence(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		parts := []string{naming.StateSecret(k.suffix, 0), k.copyPart(t, 1)}
		key := f.planKey(t)

		f.must(t, 0, "plan", "--plan-key-file", key)
		for _, name := range parts {
			if err := k.writeLate(t, k.read(t, name)); err != nil {
				t.Errorf("%s: a write upon what is there: %v", name, err)
			}
		}

		before := map[string]*corev1.Secret{}
		for _, name := range parts {
			before[name] = k.read(t, name)
		}
		k.hold(t, staleID, "runner@gone")
		o := f.must(t, 0, "plan", "--plan-key-file", key, "--force-unlock", staleID)
		wantUnlock(t, o, result.OutcomeReleased)
		for name, old := range before {
			if err := k.writeLate(t, old); !apierrors.IsConflict(err) {
				t.Errorf("%s: the late write: %v, want a conflict", name, err)
			}
			now := k.read(t, name)
			if string(now.Data["tfstate"]) != string(old.Data["tfstate"]) || !maps.Equal(now.Labels, old.Labels) {
				t.Errorf("%s: the fence has changed more than the version", name)
			}
		}
	})
}

func (k *kubernetes) read(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// writeLate is the request of a runtime that has read this version of the Secret.
func (k *kubernetes) writeLate(t *testing.T, read *corev1.Secret) error {
	read.Labels = maps.Clone(read.Labels)
	read.Labels["late"] = "true"
	_, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Update(t.Context(), read, metav1.UpdateOptions{})
	return err
}

// copyPart adds a chunk behind the state, as Terraform leaves one when a state has become smaller.
func (k *kubernetes) copyPart(t *testing.T, part int) (name string) {
	t.Helper()
	base := k.read(t, naming.StateSecret(k.suffix, 0))
	name = naming.StateSecret(k.suffix, part)
	chunk := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: base.Labels}, Data: base.Data}
	if _, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Create(t.Context(), chunk, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}
