package chunks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/event"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// owner is the object with a UID.
func owner(uid types.UID) chunks.Owner {
	return chunks.Owner{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "TerraformMachine", Name: "worker-0", UID: uid}
}

func reference(uid types.UID) metav1.OwnerReference {
	o := owner(uid)
	return metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
}

// putSplit stores a state in n Secrets of equal size.
func (c cluster) putSplit(t *testing.T, doc []byte, n int) {
	t.Helper()
	data := statetest.Gzip(doc)
	for i := range n {
		c.PutChunk(t, naming.StateSecret(c.Suffix, i), data[len(data)*i/n:len(data)*(i+1)/n])
	}
}

func (c cluster) lockLease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease, err := c.Leases.Get(t.Context(), naming.LockLease(c.Suffix), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// wantOwners compares the owner references of chunks and of the lock Lease.
func (c cluster) wantOwners(t *testing.T, want ...metav1.OwnerReference) {
	t.Helper()
	for _, secret := range c.gather(t).Found {
		if diff := cmp.Diff(want, secret.OwnerReferences); diff != "" {
			t.Errorf("owners of %s (-want +got):\n%s", secret.Name, diff)
		}
	}
	if diff := cmp.Diff(want, c.lockLease(t).OwnerReferences); diff != "" {
		t.Errorf("owners of the lock Lease (-want +got):\n%s", diff)
	}
}

// TestAdopt adopts what a runtime wrote: the runtime goes on with it, and keeps what was added.
func TestAdopt(t *testing.T) {
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		names := []string{naming.StateSecret(c.Suffix, 0), naming.LockLease(c.Suffix)}
		adopt := func(want chunks.Adoption, changed ...string) {
			t.Helper()
			done, err := c.api.Adopt(t.Context(), c.gather(t), want)
			if diff := cmp.Diff(chunks.Adopted{Changed: changed}, done); diff != "" || err != nil {
				t.Errorf("error %v, changes (-want +got):\n%s", err, diff)
			}
		}
		adopt(chunks.Adoption{Owner: owner("1"), InputsHash: "h2:aa"}, names...)
		c.wantOwners(t, reference("1"))
		adopt(chunks.Adoption{Owner: owner("1"), InputsHash: "h2:aa"}) // nothing to do
		adopt(chunks.Adoption{Owner: owner("1")})                      // and no hash takes none away
		adopt(chunks.Adoption{Owner: owner("1"), InputsHash: "h2:bb"}, names[0])

		m.Must(t, "apply", "-input=false", "-auto-approve", "-replace=terraform_data.one")
		c.wantOwners(t, reference("1"))
		sum, err := c.gather(t).Read(true)
		if err != nil {
			t.Fatal(err)
		}
		if sum.InputsHash != "h2:bb" {
			t.Errorf("hash %q, want h2:bb", sum.InputsHash)
		}
		adopt(chunks.Adoption{Owner: owner("2"), InputsHash: "h2:bb"}, names...) // the object was made anew. cases.md 5
		c.wantOwners(t, reference("2"))
	})
}

// TestAdoptKeepsOthers leaves the references and labels of others alone, and takes back what makes the object more
// than an owner.
func TestAdoptKeepsOthers(t *testing.T) {
	c := newCluster(t)
	c.Apply(t, tofu(t), oneResource)
	yes := true
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "worker-0", UID: "9"}
	controller, old := reference("1"), reference("0")
	controller.Controller, controller.BlockOwnerDeletion = &yes, &yes
	old.APIVersion = "infrastructure.cluster.x-k8s.io/v1alpha1"
	c.Change(t, 0, func(s *corev1.Secret) {
		s.OwnerReferences = []metav1.OwnerReference{controller, other, old}
		s.Labels["team"] = "a"
		s.Annotations["note"] = "b"
	})
	if _, err := c.api.Adopt(t.Context(), c.gather(t), chunks.Adoption{Owner: owner("1"), InputsHash: "h2:aa"}); err != nil {
		t.Fatal(err)
	}
	got := c.Secret(t, 0)
	if diff := cmp.Diff([]metav1.OwnerReference{other, reference("1")}, got.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if got.Labels["team"] != "a" || got.Annotations["note"] != "b" || got.Annotations["encoding"] != "gzip" {
		t.Errorf("labels %v and annotations %v have lost something", got.Labels, got.Annotations)
	}
}

// TestAdoptUnderWriters adopts while others write the same Secrets all the time: none of their writes is lost, and the
// adoption succeeds, if not at once then in a later pass.
func TestAdoptUnderWriters(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, statetest.State(t, tofu(t), oneResource), 3)
	c.putLease(t, "", "")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	written := make([]int, 3)
	for part := range written {
		writers.Go(func() {
			for ctx.Err() == nil {
				secret, err := c.Secrets.Get(ctx, naming.StateSecret(c.Suffix, part), metav1.GetOptions{})
				if err != nil {
					continue
				}
				secret.Data["written"] = fmt.Append(nil, written[part]+1)
				if _, err := c.Secrets.Update(ctx, secret, metav1.UpdateOptions{}); err == nil {
					written[part]++
				}
				time.Sleep(2 * time.Millisecond) // as a runtime that has something else to do
			}
		})
	}
	deadline := time.Now().Add(time.Minute)
	for _, uid := range []types.UID{"1", "2", "3", "4", "5", "6", "7", "8"} {
		want := chunks.Adoption{Owner: owner(uid), InputsHash: "h2:" + string(uid)}
		for {
			_, err := c.api.Adopt(t.Context(), c.gather(t), want)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	stop()
	writers.Wait()
	c.wantOwners(t, reference("8"))
	for part, n := range written {
		secret := c.Secret(t, part)
		// The answer to the last one may have been lost with the context.
		if got := string(secret.Data["written"]); got != fmt.Sprint(n) && got != fmt.Sprint(n+1) {
			t.Errorf("part %d has %s, want %d: a write was lost", part, got, n)
		}
		if n == 0 {
			t.Errorf("nobody wrote part %d", part)
		}
	}
	if got := c.Secret(t, 0).Annotations[state.AnnotationInputsHash]; got != "h2:8" {
		t.Errorf("hash %q, want h2:8", got)
	}
}

// between runs a step between the reading of a Secret and its first patch.
type between struct {
	chunks.Secrets
	step func()
}

func (b *between) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (*corev1.Secret, error) {
	if step := b.step; step != nil {
		b.step = nil
		step()
	}
	return b.Secrets.Patch(ctx, name, kind, data, opts, sub...)
}

// TestAdoptBetween has a runtime, or another adoption, write between the reading and the patch. cases.md 41.
func TestAdoptBetween(t *testing.T) {
	want := chunks.Adoption{Owner: owner("1"), InputsHash: "h2:aa"}
	eachRuntime(t, func(t *testing.T, c cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		set := c.gather(t)
		c.api.Secrets = &between{c.Secrets, func() {
			m.Must(t, "apply", "-input=false", "-auto-approve", "-replace=terraform_data.one")
		}}
		if _, err := c.api.Adopt(t.Context(), set, want); err != nil {
			t.Fatal(err)
		}
		c.wantOwners(t, reference("1"))
		sum, err := c.gather(t).Read(true)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, sum, m.Must(t, "state", "pull"))
		if before, err := set.Read(true); err != nil || sum.Serial <= before.Serial {
			t.Errorf("serial %d after %d, %v: nothing was written in between", sum.Serial, before.Serial, err)
		}
	})
	t.Run("another adoption", func(t *testing.T) {
		c := newCluster(t)
		c.Apply(t, tofu(t), oneResource)
		set := c.gather(t)
		other := c.api
		c.api.Secrets = &between{c.Secrets, func() {
			if _, err := other.Adopt(t.Context(), set, chunks.Adoption{Owner: owner("1"), InputsHash: "h2:newer"}); err != nil {
				t.Error(err)
			}
		}}
		if _, err := c.api.Adopt(t.Context(), set, want); err != nil {
			t.Fatal(err)
		}
		if got := c.Secret(t, 0).Annotations[state.AnnotationInputsHash]; got != "h2:newer" {
			t.Errorf("hash %q, want that of the faster one", got)
		}
	})
	t.Run("the state shrinks", func(t *testing.T) {
		c := newCluster(t)
		c.putSplit(t, statetest.State(t, tofu(t), oneResource), 2)
		c.putLease(t, "", "")
		c.api.Secrets = &between{c.Secrets, func() {
			if err := c.Secrets.Delete(t.Context(), naming.StateSecret(c.Suffix, 1), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}}
		if _, err := c.api.Adopt(t.Context(), c.gather(t), want); err != nil {
			t.Fatal(err)
		}
		c.wantOwners(t, reference("1"))
	})
}

// putLease makes the lock Lease as a runtime leaves it.
func (c cluster) putLease(t *testing.T, holder, info string) {
	t.Helper()
	own, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: naming.LockLease(c.Suffix), Labels: naming.BackendSelector(c.Suffix, own), Annotations: map[string]string{"app.terraform.io/lock-info": info},
	}}
	if holder != "" {
		lease.Spec.HolderIdentity = &holder
	}
	if _, err := c.Leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestAdoptHeldLock leaves the Lease of a holder alone that may be about to release it, and takes that of a dead one.
func TestAdoptHeldLock(t *testing.T) {
	c := newCluster(t)
	c.PutChunk(t, naming.StateSecret(c.Suffix, 0), statetest.Gzip(statetest.State(t, tofu(t), oneResource)))
	c.putLease(t, "id-1", `{"ID":"id-1","Who":"runner@captf-m-worker-0-apply-a1-abcdef-bcd42"}`)
	version := c.lockLease(t).ResourceVersion
	done, err := c.api.Adopt(t.Context(), c.gather(t), chunks.Adoption{Owner: owner("1")})
	if err != nil || done.Left != naming.LockLease(c.Suffix) || c.lockLease(t).ResourceVersion != version {
		t.Errorf("adopting gives %+v, %v and writes the Lease of a holder: %v", done, err, c.lockLease(t).ResourceVersion != version)
	}
	done, err = c.api.Adopt(t.Context(), c.gather(t), chunks.Adoption{Owner: owner("1"), LockIsStale: true})
	if err != nil || done.Left != "" {
		t.Errorf("adopting gives %+v, %v", done, err)
	}
	c.wantOwners(t, reference("1"))
	if id := c.lockLease(t).Spec.HolderIdentity; id == nil || *id != "id-1" {
		t.Error("the lock was released")
	}
}

// TestRepair owns what lost its owner again, says so once, and waits while it must.
func TestRepair(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, statetest.State(t, tofu(t), oneResource), 3)
	c.putLease(t, "", "")
	want := chunks.Adoption{Owner: owner("1"), InputsHash: "h2:aa"}
	if _, err := c.api.Adopt(t.Context(), c.gather(t), want); err != nil {
		t.Fatal(err)
	}
	c.Change(t, 1, func(s *corev1.Secret) { s.OwnerReferences = nil })                                     // a refresh made it anew
	c.Change(t, 2, func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{reference("0")} }) // restored from an old one
	want.InputsHash = "h2:bb"
	for _, pass := range []chunks.Pass{{Paused: true}, {JobRuns: true}} {
		if e, err := c.api.Repair(t.Context(), c.gather(t), want, pass); e != nil || err != nil {
			t.Errorf("in pass %+v: %v, %v", pass, e, err)
		}
	}
	e, err := c.api.Repair(t.Context(), c.gather(t), want, chunks.Pass{})
	if err != nil || e == nil {
		t.Fatalf("got %v, %v, want an event", e, err)
	}
	if e.Reason != event.OwnerReferencesRepaired || e.Type != event.Normal ||
		!strings.Contains(e.Message, naming.StateSecret(c.Suffix, 1)) || !strings.Contains(e.Message, naming.StateSecret(c.Suffix, 2)) {
		t.Errorf("event %+v does not name both parts", e)
	}
	c.wantOwners(t, reference("1"))
	if got := c.Secret(t, 0).Annotations[state.AnnotationInputsHash]; got != "h2:aa" {
		t.Errorf("hash %q: a repair changes none", got)
	}
	if e, err := c.api.Repair(t.Context(), c.gather(t), want, chunks.Pass{}); e != nil || err != nil {
		t.Errorf("again: %v, %v", e, err)
	}
}
