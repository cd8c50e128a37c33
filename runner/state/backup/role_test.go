package backup_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/captf/captf-runner/internal/kubetest"
)

// TestRole does everything with the rights that docs/library.md says are needed, and no others.
func TestRole(t *testing.T) {
	c := newCluster(t)
	c.store.Secrets, _ = c.As(t, kubetest.Shared(t),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "create", "patch", "delete"}})
	c.put(t, 1, "a")
	set := c.take(t, true)
	c.load(t, set)
	if err := c.store.MarkEmpty(t.Context(), set); err != nil {
		t.Error(err)
	}
	if all, err := c.store.List(t.Context(), c.Object); err != nil || len(all) != 1 || set.Empty || !all[0].Empty {
		t.Errorf("the mark is not there: %+v, %v", all, err)
	}
	if removed, err := c.store.Prune(t.Context(), c.Object, 0); len(removed) != 1 || err != nil {
		t.Errorf("pruned %q, %v", removed, err)
	}
}
