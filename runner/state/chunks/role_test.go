package chunks_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/captf/captf-runner/runner/state/chunks"
)

// TestRole does everything with the rights that docs/library.md says are needed, and no others.
func TestRole(t *testing.T) {
	c := newCluster(t)
	c.api.Secrets, c.api.Leases = c.As(t, shared(t),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "patch", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "patch", "delete"}},
	)
	c.putSplit(t, empty(t), 2)
	c.putLease(t, "", "")
	if _, err := c.api.Adopt(t.Context(), c.gather(t), chunks.Adoption{Owner: owner("1"), InputsHash: "h2:aa"}); err != nil {
		t.Fatal(err)
	}
	c.Change(t, 1, func(s *corev1.Secret) { s.OwnerReferences, s.Labels = nil, nil })
	if e, err := c.api.Repair(t.Context(), c.gather(t), chunks.Adoption{Owner: owner("1")}, chunks.Pass{}); e == nil || err != nil {
		t.Errorf("repair: %v, %v", e, err)
	}
	c.wantOwners(t, reference("1"))
	c.wantDeleted(t, chunks.Deletion{Object: c.Object})
}
