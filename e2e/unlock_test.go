package e2e

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/result"
)

const (
	staleID = "0b5f0c3e-1111-2222-3333-444444444444" // the lock that is handed down
	otherID = "77777777-5555-6666-7777-888888888888"
	other   = "runner@other-pod"
)

// TestForceUnlock hands down a lock that is still held, that is gone, and that another holder took since.
// cases.md 3, 47.
func TestForceUnlock(t *testing.T) {
	everywhere(t, testForceUnlock)
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Run("statesrv", func(t *testing.T) { testForceUnlock(t, newFixture(t, runtime, newStatesrv)) })
	})
}

func testForceUnlock(t *testing.T, f *fixture) {
	f.must(t, 0, "apply")
	calls := f.record(t)

	t.Run("already unlocked", func(t *testing.T) {
		o := f.must(t, 0, "plan", "--force-unlock", staleID, "--lock-timeout", "0", "--plan-key-file", f.planKey(t))
		want := result.OutcomeAlreadyUnlocked
		if f.onServer() {
			want = result.OutcomeReleased // all that is known: both runtimes say so
		}
		wantUnlock(t, o, want)
	})
	t.Run("released", func(t *testing.T) {
		calls.calls(t)
		f.backend.hold(t, staleID, "runner@gone")
		if !f.canForceUnlock() {
			o := f.must(t, result.ExitRetry, "refresh", "--force-unlock", staleID, "--lock-timeout", "0")
			// The lock is the one that was handed down: it was not another holder that was in the way.
			wantUnlock(t, o, result.OutcomeUnsupported)
			wantLocked(t, o, f, staleID)
			f.backend.release(t, staleID)
			return
		}
		o := f.must(t, 0, "refresh", "--force-unlock", staleID, "--lock-timeout", "0")
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)
		if got, want := steps(calls.calls(t)), f.unlockSteps("init", "force-unlock", "apply"); got != want {
			t.Errorf("commands %q, want %q: nothing may come between init and force-unlock", got, want)
		}
	})
	t.Run("held by another", func(t *testing.T) {
		calls.calls(t)
		f.backend.hold(t, otherID, other)
		o := f.must(t, result.ExitRetry, "apply", "--force-unlock", staleID, "--lock-timeout", "0")
		wantUnlock(t, o, result.OutcomeHeldByOther)
		wantLocked(t, o, f, otherID)
		if id := f.backend.holder(t); id != otherID {
			t.Errorf("the lock of another holder, %s, is now %q", otherID, id)
		}
		if got := steps(calls.calls(t)); !f.onServer() && got != "init" && got != "init apply" {
			t.Errorf("commands %q: the lock can be seen to be another's, so nothing needs to try", got)
		}
	})
	t.Run("held by another for a while", func(t *testing.T) {
		f.releaseLater(t, 2*time.Second, otherID)
		o := f.must(t, 0, "destroy", "--force-unlock", staleID, "--lock-timeout", "60")
		wantUnlock(t, o, result.OutcomeHeldByOther)
		// Where the lock cannot be looked at, a refused unlock does not tell whose it is.
		if l := o.result.Lock; l.WaitedSeconds == 0 || l.ID != otherID && !f.onServer() {
			t.Errorf("lock = %+v, want a wait for %s", l, otherID)
		}
		if id := f.backend.holder(t); id != "" {
			t.Errorf("lock %s is still held", id)
		}
	})
}

// onServer is true where only the runtime's text tells what a force-unlock did.
func (f *fixture) onServer() bool {
	_, ok := f.backend.(*served)
	return ok && !f.local()
}

func (f *fixture) planKey(t *testing.T) string {
	t.Helper()
	path := f.dir + "/plan.key"
	overwrite(t, path, strings.Repeat("k", 32))
	return path
}

// releaseLater gives the lock back after a while. The test does not end before.
func (f *fixture) releaseLater(t *testing.T, after time.Duration, id string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(after)
		f.backend.release(t, id)
	}()
	t.Cleanup(func() { <-done })
}

func wantUnlock(t *testing.T, o outcome, want result.Outcome) {
	t.Helper()
	u := o.result.Lock.ForceUnlock
	if u == nil || u.ID != staleID || u.Outcome != want {
		t.Errorf("forceUnlock = %+v, want %s for %s\n%s", u, want, staleID, o)
	}
}

// wantFree is for a run after which nobody holds the lock.
func wantFree(t *testing.T, f *fixture, o outcome) {
	t.Helper()
	if l := o.result.Lock; l.ID+l.Who+l.Operation+l.Created != "" {
		t.Errorf("lock = %+v, want no holder", l)
	}
	if id := f.backend.holder(t); id != "" {
		t.Errorf("lock %s is still held", id)
	}
}

// wantLocked is for a run that gave up waiting for the lock of another.
func wantLocked(t *testing.T, o outcome, f *fixture, id string) {
	t.Helper()
	e, l := o.result.Error, o.result.Lock
	if e == nil || e.Kind != result.KindStep || e.Reason != result.ReasonLocked {
		t.Fatalf("error = %+v, want locked\n%s", e, o)
	}
	if l.ID != id {
		t.Errorf("lock = %+v, want holder %s\n%s", l, id, o)
	}
	if f.onServer() && f.runtime.Name == "terraform" {
		// Terraform prints its own lock in place of the holder's, except for the ID.
		if l.Who+l.Operation+l.Created != "" {
			t.Errorf("lock = %+v, want only an ID: the rest is that of the one who asked", l)
		}
		return
	}
	if !strings.HasPrefix(l.Who, "runner@") || l.Operation != "OperationTypeApply" || !strings.HasPrefix(l.Created, "2026-01-02") {
		t.Errorf("lock = %+v, want Who, Operation and Created of the holder\n%s", l, o)
	}
}

// onKubernetes runs a test with both runtimes on the API server.
func onKubernetes(t *testing.T, test func(t *testing.T, f *fixture, k *kubernetes)) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, backends["kubernetes"])
		test(t, f, f.backend.(*kubernetes))
	})
}

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
		secrets := k.server.Clientset().CoreV1().Secrets(k.object.Namespace)
		secret, err := secrets.Get(t.Context(), naming.StateSecret(k.suffix, 0), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secret.Data = nil
		if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		k.hold(t, staleID, "runner@gone")
		o := f.must(t, 0, "apply", "--lock-timeout", "0", "--force-unlock", staleID)
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)
	})
}

// rule is one of the runner's Role.
func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// may is a Role that allows these verbs on Leases, and all that a runner may do with Secrets.
func may(verbs ...string) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{rule("", "secrets", "get", "list", "create", "update", "delete")}
	if len(verbs) > 0 {
		rules = append(rules, rule("coordination.k8s.io", "leases", verbs...))
	}
	return rules
}

// TestForbidden gives the ServiceAccount too little: a run says so at once, and does not wait. cases.md 37.
func TestForbidden(t *testing.T) {
	rows := []struct {
		name  string
		may   []rbacv1.PolicyRule
		fresh bool // there is no state yet
		flags []string
		step  string
		verb  string
		res   string
	}{
		{"no Leases, first run", may(), true, nil, "init", "get", "leases"},
		{"no Leases", may(), false, nil, "apply", "get", "leases"},
		{"no Leases, force-unlock", may(), false, []string{"--force-unlock", staleID}, "force-unlock", "get", "leases"},
		{"no Leases, force-unlock, first run", may(), true, []string{"--force-unlock", staleID}, "force-unlock", "get", "leases"},
		{"read Leases, first run", may("get"), true, nil, "init", "create", "leases"},
		{"read Leases", may("get"), false, nil, "apply", "update", "leases"},
		{"read Leases, force-unlock", may("get"), false, []string{"--force-unlock", staleID}, "force-unlock", "update", "leases"},
		{"no Secrets", []rbacv1.PolicyRule{rule("coordination.k8s.io", "leases", "get", "create", "update")}, true, nil, "init", "list", "secrets"},
	}
	onKubernetes(t, func(t *testing.T, f *fixture, first *kubernetes) {
		f.must(t, 0, "apply")
		empty := newKubernetes(t, f)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				k := *first
				if row.fresh {
					k = *empty
				}
				k.kubeconfig = k.server.Kubeconfig(t, k.object.Namespace, row.may)
				f.backend = &k
				locked := len(row.flags) > 0 && !row.fresh
				if locked {
					k.hold(t, staleID, "runner@gone")
					defer k.release(t, staleID)
				}
				o := f.must(t, result.ExitFailed, "apply", row.flags...)
				e := o.result.Error
				if e.Kind != result.KindStep || e.Reason != result.ReasonRBAC || e.Step != row.step {
					t.Errorf("error = %+v, want rbac in %s\n%s", e, row.step, o)
				}
				for _, want := range []string{"forbidden", "cannot " + row.verb, row.res} {
					if !strings.Contains(e.Tail, want) {
						t.Errorf("tail %q does not say %q", e.Tail, want)
					}
				}
				for _, s := range o.result.Steps {
					if s.Attempts > 1 {
						t.Errorf("%s was tried %d times", s.Name, s.Attempts)
					}
				}
				if locked && k.holder(t) != staleID {
					t.Error("the lock was released without the right to do so")
				}
			})
		}
	})
}

// TestUnlockRefused takes the right to unlock away while a run has the lock: nobody else can know the
// ID. cases.md 46.
func TestUnlockRefused(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \"4s\"\n}\n")
		f.variables(t, map[string]string{"content": `"two"`})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for k.holder(t) == "" && t.Context().Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			k.forbid(t, "leases", "update")
		}()
		o := f.run(t, "apply")
		<-done
		id := k.holder(t)
		if id == "" || o.result == nil || o.result.Lock.ID != id || o.result.Lock.Who == "" {
			t.Fatalf("the lock is held by %q, and the result does not say so\n%s", id, o)
		}
		if e := o.result.Error; o.code != result.ExitFailed || e.Reason != result.ReasonRBAC {
			t.Errorf("exit %d, error = %+v, want rbac\n%s", o.code, e, o)
		}
		if got := parseState(t, k.state(t)).Serial; got < 2 {
			t.Errorf("the state has serial %d: it was not saved", got)
		}
	})
}

// forbid takes a verb out of every Role of the namespace.
func (k *kubernetes) forbid(t *testing.T, resource, verb string) {
	roles := k.server.Clientset().RbacV1().Roles(k.object.Namespace)
	list, err := roles.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	for _, role := range list.Items {
		for i, r := range role.Rules {
			if r.Resources[0] == resource {
				role.Rules[i].Verbs = without(r.Verbs, verb)
			}
		}
		if _, err := roles.Update(t.Context(), &role, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func without(all []string, one string) []string {
	var rest []string
	for _, s := range all {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}

// byText moves the backend's settings from --backend-config into the root: the runner then has no access
// of its own to the cluster, and goes by what the runtime prints.
type byText struct{ *kubernetes }

func (byText) flags() []string { return nil }

func (f *fixture) settingsInRoot(t *testing.T, k *kubernetes) {
	t.Helper()
	f.write(t, "backend.tf", `terraform {
  backend "kubernetes" {
    secret_suffix = "`+k.suffix+`"
    namespace     = "`+k.object.Namespace+`"
    config_path   = "`+k.kubeconfig+`"
  }
}`)
	f.backend = byText{k}
}

// TestForceUnlockByText is force-unlock where the lock cannot be looked at.
func TestForceUnlockByText(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.settingsInRoot(t, k)
		f.must(t, 0, "apply")
		flags := []string{"--force-unlock", staleID, "--lock-timeout", "0"}

		wantUnlock(t, f.must(t, 0, "apply", flags...), result.OutcomeAlreadyUnlocked)

		k.hold(t, staleID, "runner@gone")
		o := f.must(t, 0, "apply", flags...)
		wantUnlock(t, o, result.OutcomeReleased)
		wantFree(t, f, o)

		k.hold(t, otherID, other)
		o = f.must(t, result.ExitRetry, "apply", flags...)
		wantUnlock(t, o, result.OutcomeHeldByOther)
		wantLocked(t, o, f, otherID)
		k.release(t, otherID)

		// The Lease was deleted by hand.
		err := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace).Delete(t.Context(), naming.LockLease(k.suffix), metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantUnlock(t, f.must(t, 0, "apply", flags...), result.OutcomeAlreadyUnlocked)
	})
}

// TestForceUnlockOnLocalBackend is a root whose backend has no lock that could be released by an ID. cases.md 43.
func TestForceUnlockOnLocalBackend(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, nil)
		f.write(t, "backend.tf", `terraform {
  backend "local" { path = "`+f.dir+`/kept.tfstate" }
}`)
		wantUnlock(t, f.must(t, 0, "apply", "--force-unlock", staleID), result.OutcomeUnsupported)
		wantFile(t, f.files+"/second", "one")
	})
}

// TestForceUnlockTexts plays backends that are not here: a bucket whose locks have numbers (cases.md 42),
// and one whose lock file is gone (cases.md 44). All but force-unlock is the real runtime.
func TestForceUnlockTexts(t *testing.T) {
	rows := []struct {
		name, text string
		code       int
		want       result.Outcome
	}{
		{"a number is wanted", `Failed to unlock state: Lock ID should be numerical value, got "0b5f0c3e-1111-2222-3333-444444444444"`, 0, result.OutcomeUnsupported},
		{"no lock info", "Failed to unlock state: failed to retrieve lock info: unexpected end of JSON input", 0, result.OutcomeAlreadyUnlocked},
		{"cannot be unlocked", "Local state cannot be unlocked by another process", 0, result.OutcomeUnsupported},
		{"coloured", "\x1b[31mError: \x1b[0m\x1b[1mFailed to unlock state: state is already unlocked\x1b[0m", 0, result.OutcomeAlreadyUnlocked},
		{"anything else", "Failed to unlock state: the bucket is on fire", result.ExitFailed, ""},
	}
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, backends["http"])
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				f.runtime = runtime
				f.stub(t, `[ "$1" = force-unlock ] || exec "$REAL" "$@"
cat >&2 <<'END'
`+row.text+`
END
exit 1
`)
				o := f.must(t, row.code, "refresh", "--force-unlock", staleID)
				if row.want != "" {
					wantUnlock(t, o, row.want)
					wantFree(t, f, o) // the run took the lock like any other
					return
				}
				if e := o.result.Error; e.Step != "force-unlock" || !strings.Contains(e.Tail, "on fire") || o.result.Lock.ForceUnlock != nil {
					t.Errorf("error = %+v, lock = %+v; want the failed force-unlock", e, o.result.Lock)
				}
			})
		}
	})
}

// TestRobbed force-unlocks a run that is alive, and takes its lock: it saves its state and says that it lost its
// lock. The lock of the other is left alone, although it is younger than the run.
func TestRobbed(t *testing.T) {
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		f.must(t, 0, "apply")
		f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \"3s\"\n}\n")
		f.variables(t, map[string]string{"content": `"two"`})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for k.holder(t) == "" && t.Context().Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
			k.edit(t, func(lease *coordinationv1.Lease) {
				*lease.Spec.HolderIdentity = otherID
				now := time.Now().UTC().Add(time.Minute).Format(time.RFC3339Nano)
				lease.Annotations[lock.InfoAnnotation] = strings.Replace(lockBody(otherID, other), "2026-01-02T03:04:05.678Z", now, 1)
			})
		}()
		o := f.must(t, result.ExitFailed, "apply")
		<-done
		r := o.result
		if r.Error.Reason != result.ReasonLockLost || r.State == nil || r.State.Saved != result.SavedNormally || r.Lock.ID != otherID {
			t.Errorf("want a lost lock, a saved state and the new holder\n%s", o)
		}
		if id := k.holder(t); id != otherID {
			t.Errorf("the new holder's lock is now held by %q", id)
		}
	})
}

// edit changes the Lease by hand.
func (k *kubernetes) edit(t *testing.T, change func(*coordinationv1.Lease)) {
	lease := k.lease(t)
	change(lease)
	if _, err := k.server.Clientset().CoordinationV1().Leases(k.object.Namespace).Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}
