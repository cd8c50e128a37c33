package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf/captf-runner/runner/lock"
)

var phases = []lock.PodPhase{
	lock.PodNotFound, lock.PodPending, lock.PodRunning, lock.PodSucceeded, lock.PodFailed, lock.PodUnknown,
	"",          // never read
	"Hibernate", // of a later Kubernetes
}

// TestJudge is the whole truth table: every kind of Lease with every phase of the holder's pod.
func TestJudge(t *testing.T) {
	always := func(v lock.Verdict) func(lock.PodPhase) lock.Verdict {
		return func(lock.PodPhase) lock.Verdict { return v }
	}
	byPod := func(p lock.PodPhase) lock.Verdict {
		switch p {
		case lock.PodNotFound, lock.PodSucceeded, lock.PodFailed:
			return lock.Stale
		}
		return lock.Alive
	}
	annotate := func(text string) *coordinationv1.Lease {
		return edit(held(lockID, podName), func(l *coordinationv1.Lease) { l.Annotations[lock.InfoAnnotation] = text })
	}
	tests := map[string]struct {
		lease *coordinationv1.Lease
		want  func(lock.PodPhase) lock.Verdict
	}{
		"no Lease":                   {nil, always(lock.Free)},
		"no holder":                  {edit(held(lockID, podName), func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }), always(lock.Free)},
		"empty holder":               {edit(held(lockID, podName), func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "" }), always(lock.Free)},
		"own pod":                    {held(lockID, podName), byPod},
		"own pod, 30 days ago":       {annotate(strings.Replace(infoJSON(lockID, podName), "2026-11-30", "2026-10-31", 1)), byPod},
		"own pod, no time":           {annotate(`{"ID":"` + lockID + `","Who":"@` + podName + `"}`), byPod},
		"own pod, user with an @":    {annotate(`{"ID":"` + lockID + `","Who":"a@b@` + podName + `"}`), byPod},
		"own pod only as the user":   {annotate(`{"ID":"` + lockID + `","Who":"` + podName + `@laptop"}`), always(lock.Foreign)},
		"workstation":                {held(lockID, "laptop"), always(lock.Foreign)},
		"pod of another object":      {held(lockID, strings.Replace(podName, "worker", "other", 1)), always(lock.Foreign)},
		"empty host":                 {annotate(`{"ID":"` + lockID + `","Who":"root@"}`), always(lock.Foreign)},
		"no host":                    {annotate(`{"ID":"` + lockID + `","Who":"root"}`), always(lock.Foreign)},
		"no who":                     {annotate(`{"ID":"` + lockID + `"}`), always(lock.Foreign)},
		"info of another lock":       {annotate(infoJSON("x", podName)), always(lock.Foreign)},
		"info without an ID":         {annotate(`{"Who":"root@` + podName + `"}`), always(lock.Foreign)},
		"info is cut":                {annotate(infoJSON(lockID, podName)[:40]), always(lock.Foreign)},
		"info is null":               {annotate(`null`), always(lock.Foreign)},
		"no info":                    {edit(held(lockID, podName), func(l *coordinationv1.Lease) { l.Annotations = nil }), always(lock.Foreign)},
		"info of the wrong type":     {annotate(`{"ID":7,"Who":"root@` + podName + `"}`), always(lock.Foreign)},
		"host with white space":      {held(lockID, podName+" "), always(lock.Foreign)},
		"a host that owns() accepts": {held(lockID, ""), always(lock.Foreign)},
	}
	owns := func(pod string) bool { return pod == podName || pod == "" }
	for name, test := range tests {
		for _, phase := range phases {
			t.Run(name+"/"+string(phase), func(t *testing.T) {
				if got, want := lock.Judge(lock.FromLease(test.lease), owns, phase), test.want(phase); got != want {
					t.Errorf("verdict %s, want %s", got, want)
				}
			})
		}
	}
}

func TestFromLease(t *testing.T) {
	bare := edit(held(lockID, podName), func(l *coordinationv1.Lease) { delete(l.Annotations, lock.InfoAnnotation) })
	other := edit(held(lockID, podName), func(l *coordinationv1.Lease) { *l.Spec.HolderIdentity = "changed" })
	free := edit(held(lockID, podName), func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil })
	tests := map[string]struct {
		lease       *coordinationv1.Lease
		id, version string
		infoErr     error
		empty       bool
	}{
		"never taken":   {nil, "", "none", nil, false},
		"held":          {held(lockID, podName), lockID, "41", nil, false},
		"no info":       {bare, lockID, "41", lock.ErrNoInfo, false},
		"info of other": {other, "changed", "41", lock.ErrOtherInfo, false},
		"free":          {free, "", "41", nil, false},
		"empty holder":  {held("", podName), "", "41", nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := lock.FromLease(test.lease)
			if l.ID() != test.id || l.Version() != test.version || !errors.Is(l.InfoErr, test.infoErr) || l.EmptyHolder != test.empty {
				t.Errorf("ID %q, version %q, empty holder %v, info %v", l.ID(), l.Version(), l.EmptyHolder, l.InfoErr)
			}
			if l.Info.ID != test.id || test.infoErr != nil && l.Info != (lock.Info{ID: test.id}) {
				t.Errorf("info %+v, want one with the ID %q", l.Info, test.id)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, podName)
	tests := map[string]struct {
		lease *coordinationv1.Lease
		phase lock.PodPhase
		err   error
		want  lock.Finding
	}{
		"free":    {nil, "", errors.New("must not be read"), lock.Finding{Verdict: lock.Free}},
		"foreign": {held(lockID, "laptop"), "", errors.New("must not be read"), lock.Finding{Verdict: lock.Foreign}},
		"alive":   {held(lockID, podName), lock.PodRunning, nil, lock.Finding{Verdict: lock.Alive, Pod: lock.PodRunning}},
		"failed":  {held(lockID, podName), lock.PodFailed, nil, lock.Finding{Verdict: lock.Stale, Pod: lock.PodFailed}},
		"gone":    {held(lockID, podName), "", notFound, lock.Finding{Verdict: lock.Stale, Pod: lock.PodNotFound}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pods := func(_ context.Context, name string) (lock.PodPhase, error) {
				if name != podName {
					t.Errorf("read pod %q", name)
				}
				return test.phase, test.err
			}
			got := must[lock.Finding](t)(lock.Check(t.Context(), &api{lease: test.lease}, leaseName, ownsPod, pods))
			if got.Verdict != test.want.Verdict || got.Pod != test.want.Pod || got.Lock.Name != leaseName {
				t.Errorf("finding %+v, want %+v", got, test.want)
			}
		})
	}
}

func ownsPod(pod string) bool { return pod == podName }

func TestCheckAbortsOnDoubt(t *testing.T) {
	proxy404 := apierrors.NewGenericServerResponse(404, "GET", schema.GroupResource{Resource: "pods"}, podName, "page not found", 0, true)
	for name, err := range map[string]error{
		"forbidden":      apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, podName, nil),
		"no answer":      errors.New("connection refused"),
		"page of a 404":  proxy404,
		"internal error": apierrors.NewInternalError(errors.New("etcd")),
	} {
		t.Run(name, func(t *testing.T) {
			pods := func(context.Context, string) (lock.PodPhase, error) { return lock.PodNotFound, err }
			got, gotErr := lock.Check(t.Context(), &api{lease: held(lockID, podName)}, leaseName, ownsPod, pods)
			if !errors.Is(gotErr, err) || got.Verdict != "" {
				t.Errorf("verdict %q, error %v", got.Verdict, gotErr)
			}
			if gotErr != nil && !strings.Contains(gotErr.Error(), podName) {
				t.Errorf("error does not name the pod: %v", gotErr)
			}
		})
	}
	lease := &api{before: func(verb string, _ *api) error { return forbidden(verb) }}
	if _, err := lock.Check(t.Context(), lease, leaseName, ownsPod, nil); !apierrors.IsForbidden(err) {
		t.Errorf("Lease that may not be read: error %v", err)
	}
}
