package e2e

import (
	"testing"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// TestLockWithoutState is the lock that init and force-unlock both fail on.
func TestLockWithoutState(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		k.hold(t, staleID, "runner@gone")
		before := k.lease(t)
		o := f.must(t, result.ExitRetry, "apply", "--lock-timeout", "2")
		wantLocked(t, o, f, staleID)
		if o.result.Error.Step != "init" || o.result.Lock.WaitedSeconds == 0 {
			t.Errorf("want a wait in init\n%s", o)
		}
		if after := k.lease(t); after.ResourceVersion != before.ResourceVersion || k.state(t) != nil {
			t.Error("a run that only waited has changed the Lease or made a state")
		}

		o = f.must(t, result.ExitRetry, "apply", "--lock-timeout", "0", "--force-unlock", otherID)
		if u := o.result.Lock.ForceUnlock; u == nil || u.Outcome != result.OutcomeHeldByOther {
			t.Errorf("forceUnlock = %+v, want held-by-other\n%s", u, o)
		}
		wantLocked(t, o, f, staleID)
		if after := k.lease(t); after.ResourceVersion != before.ResourceVersion {
			t.Error("the lock of another holder was changed")
		}

		o = f.must(t, 0, "apply", "--lock-timeout", "0", "--force-unlock", staleID)
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)
		if got := parseState(t, k.state(t)).addresses(); len(got) != 2 {
			t.Errorf("the state has %v, want both files", got)
		}
	})
}

// TestLockOnSecretWithoutState is the same for a run that was killed between the two requests with which a
// runtime writes the first state: the Secret is there, and nothing in it.
func TestLockOnSecretWithoutState(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		k.empty(t, naming.StateSecret(k.suffix, 0))
		k.hold(t, staleID, "runner@gone")
		o := f.must(t, 0, "apply", "--lock-timeout", "0", "--force-unlock", staleID)
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)
	})
}
