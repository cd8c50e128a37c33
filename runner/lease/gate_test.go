package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

func claim(object int, op naming.Op, job string) lease.Claim {
	return lease.Claim{Object: objects[object], Op: op, Job: job, Deadline: time.Hour}
}

// gateOf is a gate on a world in memory that answers at once.
func gateOf(w *world) lease.Gate {
	return (&client{now: w.now, do: w.do}).gate()
}

func enter(t *testing.T, g lease.Gate, c lease.Claim) lease.Admission {
	t.Helper()
	a, err := g.Enter(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestEnter has one Job in, runs it or not, and asks for another.
func TestEnter(t *testing.T) {
	const run, none = true, false
	tests := map[string]struct {
		first  lease.Claim
		runs   bool
		second lease.Claim
		want   lease.Reason
	}{
		"the same object":                  {claim(1, naming.Apply, "a"), run, claim(1, naming.Apply, "b"), lease.WaitingForJob},
		"the same object, not created yet": {claim(1, naming.Apply, "a"), none, claim(1, naming.Apply, "b"), lease.WaitingForJob},
		"the same object, reads only":      {claim(1, naming.Drift, "a"), run, claim(1, naming.Plan, "b"), lease.WaitingForJob},
		"the same Job":                     {claim(1, naming.Apply, "a"), none, claim(1, naming.Apply, "a"), ""},
		"two machines":                     {claim(1, naming.Apply, "a"), run, claim(2, naming.Apply, "b"), ""},
		"machine behind cluster":           {claim(0, naming.Apply, "a"), run, claim(1, naming.Apply, "b"), lease.WaitingForClusterOperation},
		"machine behind a restore":         {claim(0, naming.Restore, "a"), run, claim(1, naming.Apply, "b"), lease.WaitingForClusterOperation},
		"machine that reads":               {claim(0, naming.Destroy, "a"), run, claim(1, naming.Drift, "b"), lease.WaitingForClusterOperation},
		"machine beside one that reads":    {claim(0, naming.Plan, "a"), run, claim(1, naming.Apply, "b"), ""},
		"cluster behind machine":           {claim(1, naming.Apply, "a"), run, claim(0, naming.Apply, "b"), lease.WaitingForMachineOperations},
		"cluster behind one not created":   {claim(1, naming.Destroy, "a"), none, claim(0, naming.Apply, "b"), lease.WaitingForMachineOperations},
		"cluster beside one that reads":    {claim(1, naming.Refresh, "a"), run, claim(0, naming.Apply, "b"), ""},
		"cluster that reads":               {claim(1, naming.Apply, "a"), run, claim(0, naming.Drift, "b"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if a := enter(t, gateOf(w), test.first); !a.Admitted() || !a.CreateBefore.Equal(w.now.Add(lease.Grace/2)) {
				t.Fatalf("first: %+v", a)
			}
			if test.runs {
				w.jobs[test.first.Job] = lease.Job{Exists: true, PodRuns: true}
			}
			a := enter(t, gateOf(w), test.second)
			if a.Reason != test.want || a.Admitted() != (test.want == "") {
				t.Errorf("second: %+v, want %q", a, test.want)
			}
			if test.want != "" && (len(a.Jobs) != 1 || a.Jobs[0] != test.first.Job) {
				t.Errorf("it waits for %v", a.Jobs)
			}
		})
	}
}

// TestMachineGivesBack has the cluster come between a machine's first look at it and its second. What
// the machine took in this pass it gives back; what was its Job's before, another manager may count on.
func TestMachineGivesBack(t *testing.T) {
	for name, before := range map[string]bool{"taken just now": false, "its own before": true} {
		t.Run(name, func(t *testing.T) {
			w, c := newWorld(), claim(1, naming.Apply, "m")
			if before {
				enter(t, gateOf(w), c)
			}
			came := false
			late := &client{now: w.now, do: func(r request) answer {
				if r.verb == "create" && !came {
					came = true
					enter(t, gateOf(w), claim(0, naming.Apply, "c"))
				}
				return w.do(r)
			}}
			if a := enter(t, late.gate(), c); a.Reason != lease.WaitingForClusterOperation {
				t.Errorf("%+v", a)
			}
			if _, kept := w.leases[naming.RunLease(naming.Suffix(objects[1]))]; kept != before {
				t.Errorf("the lease is there: %v", kept)
			}
		})
	}
}

func TestObjectOutsideAnyCluster(t *testing.T) {
	w := newWorld()
	for i := range 2 {
		c := claim(i, naming.Apply, objects[i].Name)
		c.Object.Cluster = ""
		if a := enter(t, gateOf(w), c); !a.Admitted() {
			t.Errorf("%s: %+v", c.Object, a)
		}
	}
	if len(w.leases) != 2 {
		t.Errorf("%d leases, want a run lease each", len(w.leases))
	}
}

func TestLeaseTellsItsOwner(t *testing.T) {
	w := newWorld()
	enter(t, gateOf(w), claim(0, naming.Apply, "captf-c-c-apply-a1-012345"))
	run, write := w.leases[naming.RunLease(naming.Suffix(objects[0]))], w.leases[naming.ClusterLease("ns", "c")]
	for kind, l := range map[string]*coordinationv1.Lease{lease.KindRun: run, lease.KindCluster: write} {
		labels := map[string]string{
			"captf.io/lease": kind, "captf.io/managed": "true", "cluster.x-k8s.io/cluster-name": "c",
			"captf.infrastructure.cluster.x-k8s.io/owner-kind": "TerraformCluster", "captf.infrastructure.cluster.x-k8s.io/owner-name": "c",
		}
		annotations := map[string]string{"captf.io/lease-op": "apply", "captf.io/lease-acquired-at": "2026-11-30T00:00:00Z"}
		if diff := cmp.Diff(labels, l.Labels) + cmp.Diff(annotations, l.Annotations); diff != "" {
			t.Errorf("%s lease (-want +got):\n%s", kind, diff)
		}
		if *l.Spec.HolderIdentity != "captf-c-c-apply-a1-012345" || *l.Spec.LeaseDurationSeconds != 3600+600+300 {
			t.Errorf("%s lease: holder %s, %d s", kind, *l.Spec.HolderIdentity, *l.Spec.LeaseDurationSeconds)
		}
	}
}

// TestBackstop: a lease counts as long as its Job may be at work, with a pod that takes its whole grace period.
func TestBackstop(t *testing.T) {
	for grace, want := range map[time.Duration]int32{
		0: 3600 + 600 + 300, time.Minute: 3600 + 600 + 300, 600 * time.Second: 3600 + 600 + 300, 2 * time.Hour: 3600 + 7200 + 300,
	} {
		w, c := newWorld(), claim(1, naming.Apply, "a")
		c.PodGrace = grace
		enter(t, gateOf(w), c)
		if got := *w.leases[naming.RunLease(naming.Suffix(c.Object))].Spec.LeaseDurationSeconds; got != want {
			t.Errorf("grace %s: %d seconds, want %d", grace, got, want)
		}
	}
}

// TestTakeOverKeepsWhatIsNotOurs takes over the lease of a finished Job that somebody else has labelled.
func TestTakeOverKeepsWhatIsNotOurs(t *testing.T) {
	w := newWorld()
	enter(t, gateOf(w), claim(1, naming.Apply, "a"))
	w.jobs["a"] = lease.Job{Exists: true, Finished: true}
	name := naming.RunLease(naming.Suffix(objects[1]))
	w.leases[name].Labels["theirs"] = "kept"
	w.now = w.now.Add(time.Second)
	if a := enter(t, gateOf(w), claim(1, naming.Destroy, "b")); !a.Admitted() || !a.CreateBefore.Equal(w.now.Add(lease.Grace/2)) {
		t.Fatalf("%+v", a)
	}
	l := w.leases[name]
	if r := lease.FromLease(l); r.Job != "b" || r.Op != naming.Destroy || !r.AcquiredAt.Equal(w.now) || l.Labels["theirs"] != "kept" {
		t.Errorf("%+v, labels %v", r, l.Labels)
	}
}

func TestLeave(t *testing.T) {
	w := newWorld()
	enter(t, gateOf(w), claim(0, naming.Apply, "a"))
	if err := gateOf(w).Leave(t.Context(), claim(0, naming.Apply, "other")); err != nil || len(w.leases) != 2 {
		t.Errorf("another Job leaves: %v, %d leases", err, len(w.leases))
	}
	for range 2 {
		if err := gateOf(w).Leave(t.Context(), claim(0, naming.Apply, "a")); err != nil || len(w.leases) != 0 {
			t.Errorf("its Job leaves: %v, %d leases", err, len(w.leases))
		}
	}
}

// TestLeaveLooksAgain has another writer at the lease just ahead of its deletion.
func TestLeaveLooksAgain(t *testing.T) {
	name := naming.RunLease(naming.Suffix(objects[1]))
	touch := func(w *world) { w.store(w.leases[name], false) }
	for why, test := range map[string]struct {
		rival func(*world)
		times int
		left  int
		fails bool
	}{
		"touched":       {touch, 2, 0, false},
		"never at rest": {touch, 99, 1, true},
		"deleted":       {func(w *world) { delete(w.leases, name) }, 1, 0, false},
		"taken over": {func(w *world) {
			w.jobs["a"] = lease.Job{Exists: true, Finished: true}
			enter(t, gateOf(w), claim(1, naming.Apply, "b"))
		}, 1, 1, false},
	} {
		t.Run(why, func(t *testing.T) {
			w := newWorld()
			enter(t, gateOf(w), claim(1, naming.Apply, "a"))
			c := &client{now: w.now, do: func(r request) answer {
				if r.verb == "delete" && test.times > 0 {
					test.times--
					test.rival(w)
				}
				return w.do(r)
			}}
			err := c.gate().Leave(t.Context(), claim(1, naming.Apply, "a"))
			if (err != nil) != test.fails || len(w.leases) != test.left {
				t.Errorf("error %v, %d leases left", err, len(w.leases))
			}
		})
	}
}

// TestErrors fails each call in turn: nothing may start, and the error names the object and the lease.
func TestErrors(t *testing.T) {
	broken := errors.New("connection refused")
	for _, object := range []int{0, 1} {
		for failing := 0; ; failing++ {
			w, calls := newWorld(), 0
			enter(t, gateOf(w), claim(2, naming.Apply, "m2")) // so that there is a lease to judge
			c := &client{now: w.now, do: func(r request) answer {
				calls++
				if calls == failing+1 {
					return answer{err: broken, now: w.now}
				}
				return w.do(r)
			}}
			a, err := c.gate().Enter(t.Context(), claim(object, naming.Apply, "j"))
			if calls <= failing {
				if failing < 3 {
					t.Errorf("%s: only %d calls", objects[object], failing)
				}
				break
			}
			if !errors.Is(err, broken) || a.Admitted() || !strings.Contains(err.Error(), objects[object].String()) || !strings.Contains(err.Error(), "lease") {
				t.Errorf("%s, call %d: %+v, error %v", objects[object], failing, a, err)
			}
		}
	}
}

func TestClaimIsChecked(t *testing.T) {
	for want, change := range map[string]func(*lease.Claim){
		"names no Job": func(c *lease.Claim) { c.Job = "" },
		"no deadline":  func(c *lease.Claim) { c.Deadline = 0 },
		"op":           func(c *lease.Claim) { c.Op = "explode" },
		"kind":         func(c *lease.Claim) { c.Object.Kind = "Pod" },
	} {
		c := claim(1, naming.Apply, "j")
		change(&c)
		if _, err := gateOf(newWorld()).Enter(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
