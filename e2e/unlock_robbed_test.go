package e2e

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// TestRobbed force-unlocks a run that is alive, and takes its lock: it saves its state and says that it lost its
// lock. The lock of the other is left alone, although it is younger than the run.
func TestRobbed(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \"3s\"\n}\n")
		f.variables(t, map[string]string{"content": `"two"`})
		wait := k.onceHeld(t, func() {
			k.edit(t, func(lease *coordinationv1.Lease) {
				*lease.Spec.HolderIdentity = otherID
				now := time.Now().UTC().Add(time.Minute).Format(time.RFC3339Nano)
				lease.Annotations[lock.InfoAnnotation] = strings.Replace(lockBody(otherID, other), "2026-01-02T03:04:05.678Z", now, 1)
			})
		})
		o := f.must(t, result.ExitFailed, "apply")
		wait()
		r := o.result
		if r.Error.Reason != result.ReasonLockLost || r.State == nil || r.State.Saved != result.SavedNormally || r.Lock.ID != otherID {
			t.Errorf("want a lost lock, a saved state and the new holder\n%s", o)
		}
		if id := k.holder(t); id != otherID {
			t.Errorf("the new holder's lock is now held by %q", id)
		}
	})
}

// TestLeaseDeleted removes the Lease of a run that is alive: it saves its state, and says that it lost its lock.
func TestLeaseDeleted(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		reached, open := f.hold(t, "before-create-first")
		l := f.start(t, "apply")
		reached(l)
		leases := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace)
		if err := leases.Delete(t.Context(), naming.LockLease(k.suffix), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		open()
		o := l.finish(t)
		if r := o.result; o.code != result.ExitFailed || r.Error.Reason != result.ReasonLockLost || r.State == nil || r.State.Saved != result.SavedNormally {
			t.Errorf("exit %d, want a lost lock and a saved state\n%s", o.code, o)
		}
		f.wantState(t, both...)
		wantFree(t, f, o)
	})
}

// onceHeld does something as soon as a run has the lock. wait returns when it is done.
func (k *kubernetes) onceHeld(t *testing.T, do func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for k.holder(t) == "" && t.Context().Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		do()
	}()
	return func() { <-done }
}

// edit changes the Lease by hand.
func (k *kubernetes) edit(t *testing.T, change func(*coordinationv1.Lease)) {
	lease := k.lease(t)
	change(lease)
	if _, err := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace).Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}
