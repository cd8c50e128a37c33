package e2e

import (
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestForceUnlockOnBucket hands down a lock of a bucket that is gone, that is still held, and that another holder took
// since. cases.md 44.
func TestForceUnlockOnBucket(t *testing.T) {
	rows := map[string]struct {
		newBackend   func(*testing.T, *fixture) backend
		stale, other string
		onlyTofu     bool // Terraform has no such lock yet
	}{
		"Cloud Storage":    {newGCS, "1700000000000001", "1700000000000002", false},
		"S3, a lock file":  {newS3LockFile, staleID, otherID, true},
		"S3, a lock table": {newS3LockTable, staleID, otherID, false},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				if row.onlyTofu && runtime.Name != "tofu" {
					return
				}
				f := newFixture(t, runtime, row.newBackend)
				f.must(t, 0, "apply")
				flags := []string{"--force-unlock", row.stale, "--lock-timeout", "0"}

				o := f.must(t, 0, "refresh", flags...)
				wantUnlockOf(t, o, row.stale, result.OutcomeAlreadyUnlocked)
				wantFree(t, f, o)

				f.backend.hold(t, row.stale, "runner@gone")
				o = f.must(t, 0, "refresh", flags...)
				wantUnlockOf(t, o, row.stale, result.OutcomeReleased)
				wantFree(t, f, o)

				f.backend.hold(t, row.other, other)
				o = f.must(t, result.ExitRetry, "refresh", flags...)
				wantUnlockOf(t, o, row.stale, result.OutcomeHeldByOther)
				wantLocked(t, o, f, row.other)
			})
		})
	}
}

// TestForceUnlockByNumber hands an ID down to a bucket whose locks have numbers. cases.md 42.
func TestForceUnlockByNumber(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newGCS)
		o := f.must(t, 0, "apply", "--force-unlock", staleID, "--lock-timeout", "0")
		wantUnlock(t, o, result.OutcomeUnsupported)
		wantFree(t, f, o) // the run took the lock like any other
		f.wantState(t, both...)
	})
}
