package chunks_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// lease makes a run lease or a cluster lease.
func (c cluster) lease(t *testing.T, name, holder string) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	if _, err := c.Leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// left returns the names of all Secrets and Leases of the namespace.
func (c cluster) left(t *testing.T) []string {
	t.Helper()
	secrets, err := c.Secrets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := c.Leases.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range secrets.Items {
		names = append(names, s.Name)
	}
	for _, l := range leases.Items {
		names = append(names, l.Name)
	}
	return names
}

// TestDelete removes all that a destroyed object leaves, twice, and refuses while there is something in it.
func TestDelete(t *testing.T) {
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		c.lease(t, naming.RunLease(c.Suffix), "the-job")
		d := chunks.Deletion{Object: c.Object, Jobs: []string{"the-job"}}
		c.wantKept(t, d, chunks.ErrResources)
		m.Must(t, "destroy", "-input=false", "-auto-approve")
		c.wantDeleted(t, d)
		c.wantDeleted(t, d)
	})
}

// TestDeleteEncrypted has a second destroy find nothing: it leaves the bytes as they were, which tells that nothing is in
// them. Whatever does change the state changes the bytes.
func TestDeleteEncrypted(t *testing.T) {
	c := newCluster(t)
	m := c.Apply(t, tofu(t), twoOutputs, encryption)
	versions := map[string]bool{c.gather(t).Version(): true}
	destroy := func() string {
		m.Must(t, "destroy", "-input=false", "-auto-approve")
		return c.gather(t).Version()
	}
	first := destroy()
	if versions[first] {
		t.Error("a destroy left the bytes as they were")
	}
	d := chunks.Deletion{Object: c.Object}
	c.wantKept(t, d, chunks.ErrUnreadable)
	if second := destroy(); second != first {
		t.Error("a destroy that found nothing changed the bytes")
	}
	m.Must(t, "apply", "-input=false", "-auto-approve")
	d.EmptyVersion = first
	c.wantKept(t, d, chunks.ErrUnreadable)
	d.EmptyVersion = destroy()
	c.wantDeleted(t, d)
}

// twoOutputs is a module with all that a state keeps beside resources.
const twoOutputs = oneResource + `
output "secret" {
  value     = "s"
  sensitive = true
}
data "terraform_remote_state" "none" {
  backend  = "local"
  config   = { path = "nowhere" }
  defaults = { a = "b" }
  count    = 0
}
check "fine" {
  assert {
    condition     = terraform_data.one.id != ""
    error_message = "no ID"
  }
}
`

// wantKept wants a deletion to be refused, with nothing deleted.
func (c cluster) wantKept(t *testing.T, d chunks.Deletion, want error) {
	t.Helper()
	before := c.left(t)
	if err := c.api.Delete(t.Context(), d); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if left := c.left(t); !slices.Equal(left, before) {
		t.Errorf("%q are left of %q", left, before)
	}
}

// wantDeleted wants nothing but the named objects to be left.
func (c cluster) wantDeleted(t *testing.T, d chunks.Deletion, but ...string) {
	t.Helper()
	if err := c.api.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if left := c.left(t); !slices.Equal(left, but) {
		t.Errorf("%q are left, want %q", left, but)
	}
}

// empty is a state without resources, of the object's runtimes.
func empty(t *testing.T) []byte {
	t.Helper()
	return statetest.State(t, terraform(t), `output "a" { value = "b" }`)
}

// TestDeleteRefuses has a lock, leases of others and states that say nothing.
func TestDeleteRefuses(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, empty(t), 3)
	d := chunks.Deletion{Object: c.Object, Jobs: []string{"the-job"}}
	c.lease(t, naming.RunLease(c.Suffix), "another-job")
	c.wantKept(t, d, chunks.ErrLeased)
	if err := c.Leases.Delete(t.Context(), naming.RunLease(c.Suffix), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.putLease(t, "id-1", `{"ID":"id-1","Who":"ann@laptop"}`)
	c.wantKept(t, d, chunks.ErrLocked)
	d.StaleLock = "id-of-another"
	c.wantKept(t, d, chunks.ErrLocked)
	d.StaleLock = "id-1"
	c.Change(t, 1, func(s *corev1.Secret) { clear(s.Data) })
	c.wantKept(t, d, chunks.ErrUnreadable)
	d.AlthoughResources = true
	c.PutChunk(t, "somebody-elses", nil) // has the labels
	c.wantDeleted(t, d, "somebody-elses")
}

// TestDeleteCluster has the write lease of its cluster go with it, too.
func TestDeleteCluster(t *testing.T) {
	c := newCluster(t)
	c.Object.Kind = naming.Cluster
	c.lease(t, naming.ClusterLease(c.Object.Namespace, c.Object.Cluster), "the-job")
	c.lease(t, "of-somebody-else", "the-job")
	c.wantDeleted(t, chunks.Deletion{Object: c.Object, Jobs: []string{"the-job"}}, "of-somebody-else")
}

// deletes fails from the nth deletion of a Secret on, as if the controller had been killed; before runs a step first.
type deletes struct {
	chunks.Secrets
	left   int
	before func(name string)
}

var errKilled = errors.New("killed")

func (d *deletes) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	if d.left == 0 {
		return errKilled
	}
	d.left--
	if d.before != nil {
		d.before(name)
	}
	return d.Secrets.Delete(ctx, name, opts)
}

// TestDeleteInterrupted is interrupted after each chunk, and finished by the next call, although what is left can no
// longer be read.
func TestDeleteInterrupted(t *testing.T) {
	doc := empty(t)
	for n := range 3 {
		c := statetest.New(t, shared(t))
		in := cluster{c, chunks.API{Secrets: &deletes{Secrets: c.Secrets, left: n}, Leases: c.Leases}}
		in.putSplit(t, doc, 3)
		d := chunks.Deletion{Object: c.Object}
		if err := in.api.Delete(t.Context(), d); !errors.Is(err, errKilled) {
			t.Fatalf("got %v", err)
		}
		if left := in.left(t); len(left) != 3-n {
			t.Errorf("%q are left after %d", left, n)
		}
		in.api.Secrets = c.Secrets
		in.wantDeleted(t, d)
	}
}

// TestDeleteMovesNothing has a runtime write the state in between: what it wrote stays, and is looked at again.
func TestDeleteMovesNothing(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, empty(t), 2)
	used := statetest.Gzip(statetest.State(t, terraform(t), oneResource))
	c.api.Secrets = &deletes{Secrets: c.Secrets, left: 9, before: func(name string) {
		if name == naming.StateSecret(c.Suffix, 0) {
			c.Change(t, 0, func(s *corev1.Secret) { s.Data[state.DataKey] = used })
		}
	}}
	d := chunks.Deletion{Object: c.Object}
	if err := c.api.Delete(t.Context(), d); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	c.api.Secrets = c.Secrets
	c.wantKept(t, d, chunks.ErrResources) // the mark of before is none of the new state's
}
