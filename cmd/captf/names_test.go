package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
)

// A name that nothing has is never told to be free, and the names that may be meant are told.
func TestUnknownObject(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	p := operator(t, c)
	for _, command := range []string{"show", "release"} {
		p.run(t, "lock", command, "tm/worker-0").want(t, 1, "NotFound", "has neither a state nor a lock of tm/worker-0", "look at state ls")
	}
	c.Put(t, statetest.Gzip([]byte(document(7))))
	p.run(t, "lock", "show", "tm/worker-0").want(t, 0, "verdict  Free")
	p.run(t, "lock", "release", "tm/worker-0").want(t, 0, "nobody holds")
	for _, name := range []string{"tm/worker0", "tc/worker-0", "tm/wroker-0"} {
		const hint = "did you mean tm/worker-0?"
		p.run(t, "lock", "show", name).want(t, 1, "NotFound", hint)
		p.run(t, "lock", "release", name).want(t, 1, "NotFound", hint)
		p.run(t, "state", "show", name).want(t, 1, "StateNotFound", hint)
		p.run(t, "state", "pull", name).want(t, 1, "StateNotFound", hint)
		p.run(t, "state", "backup", name).want(t, 1, "StateNotFound", hint)
		p.run(t, "lease", "show", name).want(t, 0, "No lease", hint)
		p.run(t, "state", "backups", name).want(t, 0, "No backup", hint)
		p.run(t, "state", "rescue", name).want(t, 0, "No rescue set", hint)
		p.run(t, "doctor", name).want(t, 0, "no Job and no copy", "-> "+hint)
	}
	// A state that has lost its labels is still there.
	c.Change(t, 0, func(s *corev1.Secret) { clear(s.Labels) })
	p.run(t, "lock", "show", "tm/worker-0").want(t, 0, "verdict  Free")
	// Only the lock of an object that is there may be known to whoever may read no Secret.
	few := program{kubeconfig: kubetest.Shared(t).Kubeconfig(t, c.Object.Namespace, rules("leases get; pods get"))}
	few.run(t, "lock", "show", "tm/nothing").want(t, 0, "verdict  Free")
}

func TestNearest(t *testing.T) {
	all := []string{"tm/worker-10", "tm/worker-1", "tc/prod", "tm/other", "tmp/worker-1", "tm/worker-2"}
	for name, want := range map[string][]string{
		"tm/worker-11": {"tm/worker-10", "tm/worker-1", "tmp/worker-1"},
		"tc/prd":       {"tc/prod"},
		"tc/zzzzzzzzz": {},
	} {
		if diff := cmp.Diff(want, nearest(name, all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
