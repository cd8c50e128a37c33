package backup_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/state/chunks"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// cluster is one object with the library's view of it, and a clock that goes on by a minute each time it is read.
type cluster struct {
	*statetest.Cluster
	api   chunks.API
	store backup.Store
	clock time.Time
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	t.Parallel()
	c := &cluster{Cluster: statetest.New(t, kubetest.Shared(t)), clock: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	c.api = chunks.API{Secrets: c.Secrets, Leases: c.Leases}
	c.store = backup.Store{Secrets: c.Secrets, Now: func() time.Time {
		c.clock = c.clock.Add(time.Minute)
		return c.clock
	}}
	return c
}

func eachRuntime(t *testing.T, test func(t *testing.T, c *cluster, runtime tools.Runtime)) {
	for _, runtime := range tools.Runtimes(t) {
		t.Run(runtime.Name, func(t *testing.T) { test(t, newCluster(t), runtime) })
	}
}

func (c *cluster) gather(t *testing.T) *chunks.Set {
	t.Helper()
	set, err := c.api.Gather(t.Context(), c.Object)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// take backs the state up, and wants a backup to be made or not.
func (c *cluster) take(t *testing.T, made bool) backup.Set {
	t.Helper()
	set, got, err := c.store.Take(t.Context(), c.gather(t))
	if err != nil {
		t.Fatal(err)
	}
	if got != made {
		t.Errorf("backup %s was made: %v, want %v", set.Name, got, made)
	}
	if !set.Complete() {
		t.Errorf("backup %s is not complete", set.Name)
	}
	return set
}

func (c *cluster) list(t *testing.T) []backup.Set {
	t.Helper()
	sets, err := c.store.List(t.Context(), c.Object)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func (c *cluster) load(t *testing.T, set backup.Set) *backup.Content {
	t.Helper()
	content, err := c.store.Load(t.Context(), c.Object, set)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (c *cluster) get(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := c.Secrets.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// putSplit stores a state in n Secrets of equal size.
func (c *cluster) putSplit(t *testing.T, doc []byte, n int) {
	t.Helper()
	data := statetest.Gzip(doc)
	for i := range n {
		c.PutChunk(t, naming.StateSecret(c.Suffix, i), data[len(data)*i/n:len(data)*(i+1)/n])
	}
}

// oneResource is a module that needs no provider.
const oneResource = `
resource "terraform_data" "one" { input = "a" }
output "id" { value = terraform_data.one.id }
`

// killed fails from the nth creation or deletion on, as if the controller had been killed. A fake, because a kill at a
// given request cannot be had otherwise.
type killed struct {
	backup.Secrets
	left int
}

var errKilled = errors.New("killed")

func (k *killed) dead() bool {
	k.left--
	return k.left < 0
}

func (k *killed) Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error) {
	if k.dead() {
		return nil, errKilled
	}
	return k.Secrets.Create(ctx, secret, opts)
}

func (k *killed) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	if k.dead() {
		return errKilled
	}
	return k.Secrets.Delete(ctx, name, opts)
}
