package e2e

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

// TestRescueAfterOutage has the API server out of reach when the state is to be saved and the lock to be released,
// and back later: the runner releases the lock that its own child left, saves the state, and nothing is left to do.
func TestRescueAfterOutage(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f, k, h := faultyCluster(t, runtime)
		f.must(t, 0, "plan", "--plan-key-file", f.planKey(t)) // makes the first state
		f.slow(t, "4s", true)
		l := f.start(t, "apply", "--lock-timeout", "2m")
		l.says(t, creatingFirst)
		l.await(t, "the lock is known", func() bool { r := l.partial(); return r != nil && r.Lock.ID != "" })
		h.harms(when(everything, cut))
		l.says(t, "rescuing it")
		if k.holder(t) == "" {
			t.Error("the lock is free: this test shows nothing")
		}
		h.harms(nil)
		f.wantSavedAfterOutage(t, l.finish(t))
	})
}

// wantSavedAfterOutage is for a run that was cut off until its runtime had ended.
func (f *fixture) wantSavedAfterOutage(t *testing.T, o outcome) {
	t.Helper()
	if o.code != result.ExitRetry {
		t.Errorf("exit %d, want %d\n%s", o.code, result.ExitRetry, o)
	}
	wantSaved(t, o, result.SavedPushed)
	if l := o.result.Lock; !l.Released {
		t.Errorf("lock = %+v, want the own one released\n%s", l, o)
	}
	if id := f.backend.holder(t); id != "" {
		t.Errorf("the lock is still held by %s", id)
	}
	wantInFlight(t, o)
	f.wantNothingToDo(t)
}

// TestRescueAfterRestart is the same with an API server that is killed and started again. It has one of its own.
func TestRescueAfterRestart(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	f := newFixture(t, tools.Runtimes(t)[0], nil)
	namespace := server.Namespace(t)
	object := naming.Object{Kind: naming.Cluster, Namespace: namespace, Name: "c", Cluster: "c"}
	f.backend = &kubernetes{
		server: server, object: object, suffix: naming.Suffix(object),
		kubeconfig: server.Kubeconfig(t, namespace, server.RunnerRules()),
	}
	f.slow(t, "4s", true)
	l := f.start(t, "apply", "--lock-timeout", "2m")
	l.says(t, creatingFirst)
	l.await(t, "the lock is known", func() bool { r := l.partial(); return r != nil && r.Lock.ID != "" })
	server.StopAPI()
	l.says(t, "rescuing it")
	if err := server.StartAPI(); err != nil {
		t.Fatal(err)
	}
	f.wantSavedAfterOutage(t, l.finish(t))
}

// TestRescueSecretsAreRefused has an API server that takes no Secret of any kind: the directory is left.
func TestRescueSecretsAreRefused(t *testing.T) {
	t.Parallel()
	f, k, h := faultyCluster(t, tools.Runtimes(t)[0])
	f.must(t, 0, "plan", "--plan-key-file", f.planKey(t))
	h.harms(when(func(r *http.Request) bool { return r.Method != http.MethodGet && about("secrets")(r) }, denied))
	rescue := t.TempDir()
	o := f.must(t, result.ExitPerson, "apply", "--lock-timeout", "0", "--rescue-dir", rescue)
	wantSaved(t, o, result.SavedRescueDir)
	f.wantRescued(t, o, onlyFile(t, rescue))
	if set := k.rescueSet(t); len(set) > 0 {
		t.Errorf("there are %d Secrets", len(set))
	}
}

// TestRescueWaitsForRights takes the right to write any Secret away and gives it back after every place for the state was
// tried once: the run does not end with a state that goes with its pod.
func TestRescueWaitsForRights(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		t.Parallel()
		f.slow(t, "4s", true)
		l := f.start(t, "apply")
		l.says(t, creatingFirst)
		giveBack := k.rights(t)
		k.forbid(t, "secrets", "update")
		k.forbid(t, "secrets", "create")
		l.says(t, "rescue: storing it in Secrets")
		l.await(t, "the result names the file", func() bool {
			r := l.partial()
			return r != nil && r.State != nil && r.State.Saved == result.SavedLost && strings.HasSuffix(r.State.Where, ".tfstate")
		})
		giveBack()
		o := l.finish(t)
		wantSaved(t, o, result.SavedPushed)
		wantFree(t, f, o)
		if left := f.keptStates(t); len(left) > 0 {
			t.Errorf("%v are still there, though the state is where it belongs", left)
		}
		f.wantNothingToDo(t)
	})
}

// TestRescueAfterRightsWentAtOnce has the rights go before the runner could see whose lock its child holds, and come back
// when the state is to be saved: the runner then finds out, and does not wait for its own lock.
func TestRescueAfterRightsWentAtOnce(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f, k, h := faultyCluster(t, runtime)
		f.must(t, 0, "plan", "--plan-key-file", f.planKey(t)) // makes the first state
		f.slow(t, "3s", true)
		h.harms(when(func(r *http.Request) bool { return r.UserAgent() == "captf-runner" && about("leases")(r) }, denied))
		l := f.start(t, "apply", "--lock-timeout", "35s")
		l.says(t, creatingFirst)
		h.harms(when(everything, denied))
		l.says(t, "rescuing it")
		if k.holder(t) == "" {
			t.Error("the lock is free: this test shows nothing")
		}
		if id := l.partial().Lock.ID; id != "" {
			t.Errorf("the lock %s is known: this test shows nothing", id)
		}
		h.harms(nil)
		f.wantSavedAfterOutage(t, l.finish(t))
	})
}

// rights remembers what the run may do; the function gives it back.
func (k *kubernetes) rights(t *testing.T) (giveBack func()) {
	t.Helper()
	roles := k.server.Clientset().RbacV1().Roles(k.object.Namespace)
	before, err := roles.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		for _, role := range before.Items {
			role.ResourceVersion = ""
			if _, err := roles.Update(t.Context(), &role, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
}
