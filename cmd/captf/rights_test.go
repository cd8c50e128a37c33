package main

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/runner/lock"
)

// TestRights runs each command with the rights that docs/captf.md names, and no others.
func TestRights(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	lease := killed(t, c)
	heldBy(t, c, "runner@"+ownPod(t, c))
	for _, test := range []struct{ command, rights string }{
		{"lock show tm/worker-0", "leases get; pods get"},
		{"lease show", "leases get,list; jobs get,list; pods list"},
		{"lease show tm/worker-0", "secrets list; leases get,list; jobs get,list; pods list"},
		{"state show tm/worker-0", "secrets get,list; jobs list"},
		{"state pull tm/worker-0", "secrets get,list"},
		{"state explain tm/worker-0", "secrets get,list"},
		{"state diff tm/worker-0 tm/worker-0", "secrets get,list"},
		{"state backups tm/worker-0", "secrets get,list"},
		{"state rescue tm/worker-0", "secrets get,list"},
		{"state backup tm/worker-0", "secrets get,list,create; jobs list"},
		{"state ls", "secrets list; leases list,get; pods get"},
		{"state ls -o wide", "secrets list,get; leases list,get; pods get"},
		{"doctor tm/worker-0", "secrets get,list; leases get,list; jobs get,list; pods get,list; configmaps get"},
		{"lock show worker-0", "secrets list; leases get,list; pods get"},
		{"lock release " + lease.Name, "secrets list; leases get,list,update; pods get"},
	} {
		p := program{kubeconfig: kubetest.Shared(t).Kubeconfig(t, c.Object.Namespace, rules(test.rights))}
		if e := p.run(t, strings.Fields(test.command)...); e.code != 0 || strings.Contains(e.out+e.err, "cannot") {
			t.Errorf("%s with %s: exit code %d\n%s%s", test.command, test.rights, e.code, e.out, e.err)
		}
	}
	after, err := c.Leases.Get(t.Context(), lease.Name, metav1.GetOptions{})
	if err != nil || lock.FromLease(after).Held() {
		t.Errorf("the lock is %+v, error %v; want it free", after, err)
	}
}

// What may not be read is never told as nothing there.
func TestForbiddenIsNotFree(t *testing.T) {
	t.Parallel()
	c := statetest.New(t, kubetest.Shared(t))
	for _, test := range []struct{ command, rights, says string }{
		{"lease show tm/worker-0", "secrets list; leases get,list", "cannot list resource \"jobs\""},
		{"lease show tm/worker-0", "leases get,list; jobs list", "cannot list resource \"secrets\""},
		{"doctor tm/worker-0", "secrets get,list; leases get,list; pods get,list", "!!   lease   it cannot be looked at"},
	} {
		p := program{kubeconfig: kubetest.Shared(t).Kubeconfig(t, c.Object.Namespace, rules(test.rights))}
		e := p.run(t, strings.Fields(test.command)...)
		if all := e.out + e.err; e.code != 1 || !strings.Contains(all, test.says) || strings.Contains(all, "nothing keeps") {
			t.Errorf("%s with %s: exit code %d\n%s", test.command, test.rights, e.code, all)
		}
	}
}

var groups = map[string]string{"leases": "coordination.k8s.io", "jobs": "batch"}

// rules reads "secrets get,list; pods get".
func rules(text string) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for part := range strings.SplitSeq(text, "; ") {
		resource, verbs, _ := strings.Cut(part, " ")
		all = append(all, rbacv1.PolicyRule{APIGroups: []string{groups[resource]}, Resources: []string{resource}, Verbs: strings.Split(verbs, ",")})
	}
	return all
}
