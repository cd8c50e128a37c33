package launch

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/state"
)

// tally counts what a launcher tells, by what it says.
type tally map[string]int

func (c tally) ForceUnlocked(naming.Object)        { c["force-unlocked"]++ }
func (c tally) Waited(_ naming.Object, why string) { c["waited "+why]++ }
func (c tally) Pruned(_ naming.Object, n int)      { c["pruned"] += n }

func (c tally) JobEnded(_ naming.Object, op naming.Op, r *result.Result, _ time.Duration) {
	c[fmt.Sprintf("ended %s: succeeded %t", op, r != nil && r.Succeeded())]++
}

func (c tally) StateRead(_ naming.Object, sum *state.Summary, err error) {
	if err != nil {
		c["read "+string(state.ReasonOf(err))]++
	}
	if sum != nil {
		c["read a state"]++
	}
}

func (c tally) BackedUp(_ naming.Object, made bool, err error) {
	c[fmt.Sprintf("backed up: made %t, failed %t", made, err != nil)]++
}

// since is what was counted since the last call.
func (f *fixture) since() tally {
	counted := f.launcher.Metrics.(tally)
	f.launcher.Metrics = tally{}
	return counted
}

// Every state that is read and every backup is counted, also those that come to nothing.
func TestPassCounts(t *testing.T) {
	f := setUp(t)
	f.launcher.Metrics = tally{}
	wants := func(step string, want tally) {
		t.Helper()
		if diff := cmp.Diff(want, f.since()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step, diff)
		}
	}
	f.finish(f.start(), jobtest.Succeeded)
	wants("first apply", tally{"read StateNotFound": 1, "backed up: made true, failed false": 1, "ended apply: succeeded true": 1})
	f.expect(Idle, ReasonDone)
	wants("idle", tally{"read a state": 1})

	for serial := range 5 {
		f.object.desired = Desired{Op: naming.Drift, Tick: fmt.Sprint(serial), Applied: true}
		drift := jobtest.Succeeded
		drift.Serial = serial + 2
		f.finish(f.start(), drift)
	}
	wants("drifts", tally{"read a state": 5, "backed up: made true, failed false": 5, "pruned": 1, "ended drift: succeeded true": 5})

	f.object.desired = Desired{Op: naming.Apply, InputsHash: "h2:2", Applied: true}
	f.start()
	wants("second apply", tally{"read a state": 1, "backed up: made false, failed false": 1})
}

// A state that cannot be read is counted as such, and so is the copy that a restore in its place cannot make.
func TestPassCountsFailures(t *testing.T) {
	f := setUp(t)
	f.finish(f.start(), jobtest.Succeeded)
	backup := f.secrets(naming.LabelBackup + "=true")[0]
	secrets := f.client.CoreV1().Secrets(f.object.id.Namespace)
	base, err := secrets.Get(t.Context(), naming.StateSecret(naming.Suffix(f.object.id), 0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	base.Data[state.DataKey] = []byte("no gzip")
	if _, err := secrets.Update(t.Context(), base, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.launcher.Metrics = tally{}
	f.object.desired = Desired{Op: naming.Restore, InputsHash: "h2:1", Tick: "1", Applied: true, Restore: Restore{Set: backup}}
	f.start()
	want := tally{"read StateCorrupt": 1, "backed up: made false, failed true": 1}
	if diff := cmp.Diff(want, f.since()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A lock that is handed down is counted once, by the pass that creates the Job, and each pass that waits is counted.
func TestPassCountsLocks(t *testing.T) {
	f := setUp(t)
	f.leaveStaleLock()
	f.launcher.Metrics = tally{}
	job := f.start()
	if got := f.since()["force-unlocked"]; got != 1 {
		t.Errorf("counted %d locks that were handed down, want 1", got)
	}
	f.finish(job, jobtest.Succeeded)
	f.must(f.kubelet.Lock(t.Context(), "id-2", "me@laptop"))
	f.object.desired.InputsHash, f.launcher.WaitForForeignLock = "h2:2", true
	for range 2 {
		f.expect(Wait, ReasonLockForeign)
	}
	if got := f.since(); got["waited "+ReasonLockForeign] != 2 || got["force-unlocked"] != 0 {
		t.Errorf("counted %v, want two waits and no lock", got)
	}
}
