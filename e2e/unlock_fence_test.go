package e2e

import (
	"maps"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
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
	base := k.secret(t)
	name = naming.StateSecret(k.suffix, part)
	chunk := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: base.Labels}, Data: base.Data}
	if _, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Create(t.Context(), chunk, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFenceOfEmptyState has a run be killed between the two requests that write the first state: the second one may
// come late, too. That of a run that lives is let through.
func TestFenceOfEmptyState(t *testing.T) {
	t.Parallel()
	for holder, want := range map[string]struct {
		code   int
		fenced bool
	}{staleID: {0, true}, otherID: {result.ExitRetry, false}} {
		t.Run(holder, func(t *testing.T) {
			f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
			key := f.planKey(t)
			f.must(t, 0, "plan", "--plan-key-file", key)
			k.empty(t, naming.StateSecret(k.suffix, 0))
			k.hold(t, holder, "runner@gone")
			var fenced atomic.Bool
			h.harms(func(r *http.Request) fate {
				if fences(r) {
					fenced.Store(true)
				}
				return passes
			})
			o := f.must(t, want.code, "plan", "--plan-key-file", key, "--force-unlock", staleID, "--lock-timeout", "0")
			if got := fenced.Load(); got != want.fenced {
				t.Errorf("fenced: %v, want %v\n%s", got, want.fenced, o)
			}
		})
	}
}

// empty takes the state out of a Secret.
func (k *kubernetes) empty(t *testing.T, name string) {
	t.Helper()
	secret := k.read(t, name)
	secret.Data = nil
	if _, err := k.server.Clientset().CoreV1().Secrets(k.object.Namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestStopDuringFence tells a run to stop while it puts up the fence: the lock of the dead run stays.
func TestStopDuringFence(t *testing.T) {
	t.Parallel()
	f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
	f.must(t, 0, "apply")
	k.hold(t, staleID, "runner@gone")
	asked := make(chan struct{}, 100)
	h.harms(func(r *http.Request) fate {
		if !fences(r) {
			return passes
		}
		asked <- struct{}{}
		return hangs
	})
	l := f.start(t, "apply", "--force-unlock", staleID)
	<-asked
	l.signal(t, syscall.SIGTERM)
	o := l.finish(t)
	wantInterrupted(t, o, "force-unlock")
	if got := o.steps(); got != "init" {
		t.Errorf("steps %q, want none after the stop\n%s", got, o)
	}
	if id := k.holder(t); id != staleID {
		t.Errorf("the lock is held by %q, want that it was left alone\n%s", id, o)
	}
}

// TestFenceOfOwnLock has a runtime be killed whose write comes late: it is refused once the run has released the lock
// that its child left.
func TestFenceOfOwnLock(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.slowSecond(t, "5m")
		l := f.start(t, "apply")
		l.says(t, creatingSecond)
		read := k.read(t, naming.StateSecret(k.suffix, 0))
		l.child(t, "apply").kill(t)
		o := l.finish(t)
		if !o.result.Lock.Released {
			t.Errorf("lock = %+v, want it released\n%s", o.result.Lock, o)
		}
		if err := k.writeLate(t, read); !apierrors.IsConflict(err) {
			t.Errorf("the late write: %v, want a conflict\n%s", err, o)
		}
	})
}

// fences matches the runner's own writes into the Secrets of a state.
func fences(r *http.Request) bool {
	return r.Method == http.MethodPut && about("secrets")(r) && r.UserAgent() == "captf-runner"
}
