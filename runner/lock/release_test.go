package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/captf/captf-runner/runner/lock"
)

func TestRelease(t *testing.T) {
	tests := map[string]struct {
		lease  *coordinationv1.Lease
		before func(verb string, a *api) error
		want   lock.Unlock
		holder string // afterwards
		calls  string
	}{
		"held by that ID":  {lease: held(lockID, podName), want: lock.Unlock{Outcome: lock.Released}, calls: "get update"},
		"not there":        {want: lock.Unlock{Outcome: lock.AlreadyUnlocked}, calls: "get"},
		"free":             {lease: edit(held("", ""), func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }), want: lock.Unlock{Outcome: lock.AlreadyUnlocked}, calls: "get"},
		"empty holder":     {lease: held("", ""), want: lock.Unlock{Outcome: lock.AlreadyUnlocked}, calls: "get update"},
		"held by another":  {lease: held("other", "laptop"), want: lock.Unlock{Outcome: lock.HeldByOther, Holder: must[lock.Info](t)(lock.ParseInfo(infoJSON("other", "laptop")))}, holder: "other", calls: "get"},
		"no info to read":  {lease: edit(held(lockID, ""), func(l *coordinationv1.Lease) { l.Annotations = nil }), want: lock.Unlock{Outcome: lock.Released}, calls: "get update"},
		"other, no info":   {lease: edit(held("other", ""), func(l *coordinationv1.Lease) { l.Annotations = nil }), want: lock.Unlock{Outcome: lock.HeldByOther, Holder: lock.Info{ID: "other"}}, holder: "other", calls: "get"},
		"touched once":     {lease: held(lockID, podName), before: onceBefore("update", touch), want: lock.Unlock{Outcome: lock.Released}, calls: "get update get update"},
		"unlocked between": {lease: held(lockID, podName), before: onceBefore("update", unlock), want: lock.Unlock{Outcome: lock.AlreadyUnlocked}, calls: "get update get"},
		"deleted between":  {lease: held(lockID, podName), before: onceBefore("update", func(a *api) { a.lease = nil }), want: lock.Unlock{Outcome: lock.AlreadyUnlocked}, calls: "get update"},
		"taken between": {
			lease: held(lockID, podName), before: onceBefore("update", func(a *api) { *a.lease.Spec.HolderIdentity = "other"; a.write(a.lease) }),
			want: lock.Unlock{Outcome: lock.HeldByOther, Holder: lock.Info{ID: "other"}}, holder: "other", calls: "get update get",
		},
		"server restarts": {lease: held(lockID, podName), before: failOnce("get", apierrors.NewServiceUnavailable("etcd")), want: lock.Unlock{Outcome: lock.Released}, calls: "get get update"},
		"answer lost":     {lease: held(lockID, podName), before: onceThenFail("update", unlock), want: lock.Unlock{Outcome: lock.AlreadyUnlocked}, calls: "get update get"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := &api{lease: test.lease, before: test.before}
			got := must[lock.Unlock](t)(lock.Release(t.Context(), a, leaseName, lockID))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if calls := strings.Join(a.requests, " "); calls != test.calls {
				t.Errorf("requests %q, want %q", calls, test.calls)
			}
			if after := lock.FromLease(a.lease); after.Holder != test.holder {
				t.Errorf("holder afterwards %q, want %q", after.Holder, test.holder)
			}
		})
	}
}

func TestReleaseLeavesTheLeaseAsTheRuntimesDo(t *testing.T) {
	a := &api{lease: held(lockID, podName)}
	want := a.lease.DeepCopy()
	want.Spec.HolderIdentity = nil
	want.Annotations = map[string]string{"other": "kept"}
	want.ResourceVersion = "42"
	must[lock.Unlock](t)(lock.Release(t.Context(), a, leaseName, lockID))
	if diff := cmp.Diff(want, a.lease); diff != "" {
		t.Errorf("Lease (-want +got):\n%s", diff)
	}
}

func TestReleaseErrors(t *testing.T) {
	always := func(on string, err error) func(string, *api) error {
		return func(verb string, _ *api) error {
			if verb == on {
				return err
			}
			return nil
		}
	}
	tests := map[string]struct {
		before func(string, *api) error
		is     func(error) bool
		text   []string
		tries  int // requests of the failing verb
	}{
		"may not get":    {always("get", forbidden("get")), apierrors.IsForbidden, []string{"get lease " + leaseName, "(grant get on leases.coordination.k8s.io)"}, 1},
		"may not update": {always("update", forbidden("update")), apierrors.IsForbidden, []string{"update lease " + leaseName, "(grant update on leases.coordination.k8s.io)"}, 1},
		"no end of conflicts": {func(verb string, a *api) error {
			if verb == "update" {
				touch(a)
			}
			return nil
		}, apierrors.IsConflict, []string{"update lease " + leaseName}, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := &api{lease: held(lockID, podName), before: test.before}
			got, err := lock.Release(t.Context(), a, leaseName, lockID)
			if err == nil || !test.is(err) || got.Outcome != "" {
				t.Fatalf("outcome %q, error %v", got.Outcome, err)
			}
			if !apierrors.IsForbidden(err) && strings.Contains(err.Error(), "grant") {
				t.Errorf("a way out that is none: %v", err)
			}
			for _, text := range test.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is missing in: %v", text, err)
				}
			}
			last, n := a.requests[len(a.requests)-1], 0
			for _, verb := range a.requests {
				if verb == last {
					n++
				}
			}
			if n != test.tries {
				t.Errorf("%d requests to %s, want %d", n, last, test.tries)
			}
			if after := lock.FromLease(a.lease); after.Holder != lockID {
				t.Errorf("holder afterwards %q", after.Holder)
			}
		})
	}
}

func TestReleaseOfAnEmptyHolderThatFails(t *testing.T) {
	a := &api{lease: held("", podName), before: func(verb string, _ *api) error {
		if verb == "update" {
			return forbidden(verb)
		}
		return nil
	}}
	if got, err := lock.Release(t.Context(), a, leaseName, ""); !apierrors.IsForbidden(err) || got.Outcome != "" {
		t.Errorf("outcome %q, error %v", got.Outcome, err)
	}
}

// A server that fails for a moment is asked again, as one that does not answer is.
func TestReleaseAsksAgain(t *testing.T) {
	for name, failure := range map[string]error{
		"no answer":      errors.New("connection refused"),
		"internal error": apierrors.NewInternalError(errors.New("etcd")),
		"too many":       apierrors.NewTooManyRequests("slow down", 0),
	} {
		a := &api{lease: held(lockID, podName), before: func(_ string, a *api) error {
			if len(a.requests) == 1 {
				return failure
			}
			return nil
		}}
		if got, err := lock.Release(t.Context(), a, leaseName, lockID); got.Outcome != lock.Released || err != nil {
			t.Errorf("%s: outcome %q, error %v", name, got.Outcome, err)
		}
	}
}

func TestReleaseEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := &api{lease: held(lockID, podName), before: func(string, *api) error {
		cancel()
		return errors.New("connection refused")
	}}
	if _, err := lock.Release(ctx, a, leaseName, lockID); !errors.Is(err, context.Canceled) || len(a.requests) != 1 {
		t.Errorf("error %v after %v", err, a.requests)
	}
}

func touch(a *api)  { a.write(a.lease) }
func unlock(a *api) { a.lease.Spec.HolderIdentity = nil; a.write(a.lease) }

// onceBefore does something behind the caller's back, ahead of the first request of verb.
func onceBefore(verb string, do func(*api)) func(string, *api) error {
	return hookOnce(verb, do, nil)
}

func failOnce(verb string, err error) func(string, *api) error {
	return hookOnce(verb, func(*api) {}, err)
}

// onceThenFail is a request that is carried out and whose answer is lost.
func onceThenFail(verb string, do func(*api)) func(string, *api) error {
	return hookOnce(verb, do, errors.New("connection reset by peer"))
}

func hookOnce(on string, do func(*api), err error) func(string, *api) error {
	done := false
	return func(verb string, a *api) error {
		if verb != on || done {
			return nil
		}
		done = true
		do(a)
		return err
	}
}
