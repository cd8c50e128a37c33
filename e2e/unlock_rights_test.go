package e2e

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/result"
)

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
				// What is taken for a lock that is held is waited for, but not for long.
				o := f.run(t, "apply", append([]string{"--lock-timeout", "5"}, row.flags...)...)
				if o.code != result.ExitFailed || o.result == nil || o.result.Error == nil {
					t.Fatalf("exit %d, want %d\n%s", o.code, result.ExitFailed, o)
				}
				e := o.result.Error
				if e.Kind != result.KindStep || e.Reason != result.ReasonRBAC || e.Step != row.step {
					t.Errorf("error = %+v, want rbac in %s\n%s", e, row.step, o)
				}
				for _, want := range []string{"forbidden", "cannot " + row.verb, row.res} {
					if !strings.Contains(e.Tail, want) {
						t.Errorf("tail %q does not say %q", e.Tail, want)
					}
				}
				if !strings.Contains(o.stdout+o.stderr, "cannot "+row.verb) {
					t.Errorf("the log does not say what is forbidden\n%s", o)
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
		wait := k.onceHeld(t, func() { k.forbid(t, "leases", "update") })
		o := f.run(t, "apply")
		wait()
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
