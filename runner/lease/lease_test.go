package lease_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	backstop := time.Hour + lease.Margin
	ages := []time.Duration{-time.Minute, 0, lease.Grace, lease.Grace + 1, backstop, backstop + 1}
	jobs := map[string]lease.Job{
		"no Job":                {},
		"no Job, a pod is left": {PodRuns: true},
		"running":               {Exists: true, PodRuns: true},
		"not begun":             {Exists: true},
		"finished":              {Exists: true, Finished: true},
		"finished, pod is not":  {Exists: true, Finished: true, PodRuns: true},
		"suspended":             {Exists: true, Suspended: true},
		"finished, suspended":   {Exists: true, Finished: true, Suspended: true},
		"resumed just now":      {Exists: true, PodRuns: true, StartedAt: now},
		"resumed long ago":      {Exists: true, PodRuns: true, StartedAt: now.Add(-backstop - 1)},
	}
	const live, done, abandoned, expired = lease.Live, lease.Done, lease.Abandoned, lease.Expired
	want := map[string][]lease.Status{ // by age
		"no Job":                {live, live, live, abandoned, abandoned, expired},
		"no Job, a pod is left": {live, live, live, live, live, expired},
		"running":               {live, live, live, live, live, expired},
		"not begun":             {live, live, live, live, live, expired},
		"finished":              {done, done, done, done, done, expired},
		"finished, pod is not":  {live, live, live, live, live, expired},
		"suspended":             {live, live, live, live, live, live},
		"finished, suspended":   {done, done, done, done, done, expired},
		"resumed just now":      {live, live, live, live, live, live},
		"resumed long ago":      {live, live, live, live, live, expired},
	}
	for name, job := range jobs {
		for i, age := range ages {
			r := lease.Record{Job: "j", AcquiredAt: now.Add(-age), Backstop: backstop}
			if got := lease.Judge(r, job, now); got != want[name][i] {
				t.Errorf("%s, %s old: %s, want %s", name, age, got, want[name][i])
			}
			r.Job = ""
			if got := lease.Judge(r, job, now); got != lease.Unheld {
				t.Errorf("no holder, %s old: %s", age, got)
			}
		}
	}
}

func TestFromLease(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	job, seconds, zero := "j", int32(4500), int32(0)
	tests := map[string]struct {
		lease coordinationv1.Lease
		want  lease.Record
	}{
		"whole": {
			coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{
					Name: "l", CreationTimestamp: created,
					Labels:      map[string]string{lease.LabelKind: lease.KindRun, naming.LabelOwnerKind: "TerraformMachine"},
					Annotations: map[string]string{lease.AnnotationOp: "apply", lease.AnnotationAcquiredAt: "2026-11-30T01:02:03Z"},
				},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &job, LeaseDurationSeconds: &seconds},
			},
			lease.Record{
				Name: "l", Job: "j", Kind: lease.KindRun, Owner: naming.Machine, Op: naming.Apply,
				AcquiredAt: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Backstop: 75 * time.Minute,
			},
		},
		"bare":        {coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}}, lease.Record{AcquiredAt: created.Time, Backstop: 75 * time.Minute}},
		"no backstop": {coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &zero}}, lease.Record{AcquiredAt: created.Time, Backstop: 75 * time.Minute}},
		"no time": {
			coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created, Annotations: map[string]string{lease.AnnotationAcquiredAt: "noon"}}},
			lease.Record{AcquiredAt: created.Time, Backstop: 75 * time.Minute},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lease.FromLease(&test.lease)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}
