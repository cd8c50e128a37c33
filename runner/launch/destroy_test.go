package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/jobtest"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// A plan of an object that never applied was killed, and left its lock: nothing would ever release it.
func TestPassCleansUpAfterKilledPlan(t *testing.T) {
	f := setUp(t)
	f.object.desired = Desired{Op: naming.Plan, InputsHash: "h2:1"}
	job := f.start()
	if err := f.kubelet.Lock(t.Context(), "id-1", "root@"+job+"-x1y2z"); err != nil {
		t.Fatal(err)
	}
	f.finish(job, jobtest.End{Code: 137, Condition: "PodFailurePolicy"})
	f.object.desired = Desired{Op: naming.Destroy}
	if r := f.expect(Cleanup, ReasonDestroyed); !r.Gone {
		t.Error("the object may not go")
	}
	if got := f.leases(""); len(got) > 0 {
		t.Errorf("leases are left: %v", got)
	}
}

// encrypted makes a document of jobtest one that does not tell what is in it.
const encrypted = `{},"encryption_version":"v0"`

// An encrypted state does not tell that it is empty. A second destroy, which leaves it as it is, does: that was real
// OpenTofu in package chunks. Then it goes, and another object of this name may begin.
func TestPassDestroysEncrypted(t *testing.T) {
	f := setUp(t)
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message, Serial: 1, Outputs: encrypted})

	f.object.desired = Desired{Op: naming.Destroy, Applied: true, Once: true}
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message, Serial: 2, Outputs: encrypted})
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message}) // finds nothing
	for range 2 {
		if r := f.expect(Cleanup, ReasonDestroyed); !r.Gone {
			t.Error("the object may not go")
		}
	}
	if got := f.secrets("tfstate=true"); len(got) > 0 {
		t.Errorf("chunks are left: %v", got)
	}
	f.deleteJobs()
	f.object.desired = Desired{Op: naming.Apply, InputsHash: "h2:1"}
	f.start()
}

// Whatever writes an encrypted state after the destroy that found nothing keeps it, and somebody who writes again and
// again is not followed by destroys for ever.
func TestPassKeepsEncrypted(t *testing.T) {
	f := setUp(t)
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message, Serial: 1, Outputs: encrypted})
	f.object.desired = Desired{Op: naming.Destroy, Applied: true}
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message, Serial: 2, Outputs: encrypted})
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message})
	f.must(f.kubelet.WriteState(t.Context(), 3, encrypted)) // a workstation, in between
	f.finish(f.start(), jobtest.End{Message: jobtest.Succeeded.Message, Serial: 4, Outputs: encrypted})
	if r := f.expect(Refuse, "StateEncrypted"); !strings.Contains(r.Decision.Message, "3 destroys succeeded") {
		t.Errorf("message %q", r.Decision.Message)
	}
	if got := f.secrets("tfstate=true"); len(got) != 1 {
		t.Errorf("chunks %v, want one", got)
	}
	f.must(f.client.CoreV1().Secrets(f.object.id.Namespace).Delete(t.Context(), naming.StateSecret(naming.Suffix(f.object.id), 0), metav1.DeleteOptions{}))
	f.expect(Cleanup, ReasonDestroyed) // a person has looked, and deleted it
}

// Somebody has just begun to work on an object that never applied, and is to go: their lock stays, and is waited for.
func TestPassWaitsForForeignLockBeforeCleanup(t *testing.T) {
	f := setUp(t)
	f.object.desired = Desired{Op: naming.Destroy}
	f.must(f.kubelet.Lock(t.Context(), "id-1", "me@laptop"))
	for range 2 {
		r := f.expect(Wait, ReasonLockForeign)
		if r.Gone || r.After == 0 || !strings.Contains(r.Decision.Message, "me@laptop") || r.Condition.Reason != "StateLocked" {
			t.Errorf("gone %v, after %s, message %q, condition %+v", r.Gone, r.After, r.Decision.Message, r.Condition)
		}
	}
	if diff := cmp.Diff(map[string]int{"StateLocked": 1}, f.events()); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	f.must(f.kubelet.Lock(t.Context(), "", ""))
	if r := f.expect(Cleanup, ReasonDestroyed); !r.Gone {
		t.Error("the object may not go")
	}
}

// A launcher died between its lease and its Job, and then the object is to go. The lease counts for the grace, and no
// longer.
func TestPassCleansUpAbandonedLease(t *testing.T) {
	f := setUp(t)
	name, err := naming.JobName(f.object.id, naming.Apply, 1, "h2:1", "")
	f.must(err)
	_, err = f.launcher.gate().Enter(t.Context(), lease.Claim{Object: f.object.id, Op: naming.Apply, Job: name, Deadline: time.Hour})
	f.must(err)
	f.object.desired = Desired{Op: naming.Destroy}
	if r := f.expect(Wait, string(lease.WaitingForJob)); r.Gone || r.After == 0 || !strings.Contains(r.Decision.Message, name) {
		t.Errorf("gone %v, after %s, message %q", r.Gone, r.After, r.Decision.Message)
	}
	f.launcher.Now = func() time.Time { return time.Now().Add(2 * lease.Grace) }
	if r := f.expect(Cleanup, ReasonDestroyed); !r.Gone {
		t.Error("the object may not go")
	}
	if got := f.leases(""); len(got) > 0 {
		t.Errorf("leases are left: %v", got)
	}
}

// deleteJobs removes all memory of the object's runs.
func (f *fixture) deleteJobs() {
	f.Helper()
	for _, r := range f.jobs() {
		f.must(f.client.BatchV1().Jobs(f.object.id.Namespace).Delete(f.Context(), r.Name, metav1.DeleteOptions{
			PropagationPolicy: new(metav1.DeletePropagationBackground),
		}))
	}
}
