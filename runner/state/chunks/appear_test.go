package chunks_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// appears writes ahead of the first Get, behind the list. A fake, because nothing stops a server there.
type appears struct {
	chunks.Secrets
	write func()
	late  int // so many lists find nothing
}

func (a *appears) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	if a.late > 0 {
		a.late--
		return &corev1.SecretList{}, nil
	}
	return a.Secrets.List(ctx, opts)
}

func (a *appears) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error) {
	if a.write != nil {
		a.write()
		a.write = nil
	}
	return a.Secrets.Get(ctx, name, opts)
}

// TestGatherWhileWritten has a chunk come between the list and the look for those that are hidden: it is none of
// them, and what was listed is no longer the state.
func TestGatherWhileWritten(t *testing.T) {
	doc := statetest.State(t, tofu(t), oneResource)
	t.Run("the first of all", func(t *testing.T) {
		c := newCluster(t)
		c.api.Secrets = &appears{Secrets: c.Secrets, write: func() { c.putSplit(t, doc, 1) }}
		set := c.gather(t)
		sum, err := set.Read(true)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, sum, string(doc))
	})
	t.Run("a part", func(t *testing.T) {
		c := newCluster(t)
		c.putSplit(t, doc, 1)
		c.api.Secrets = &appears{Secrets: c.Secrets, write: func() { c.PutChunk(t, naming.StateSecret(c.Suffix, 1), []byte("x")) }}
		if set := c.gather(t); len(set.Found) != 2 || len(set.Hidden) != 0 {
			t.Errorf("found %d, hidden %d, want 2 and none", len(set.Found), len(set.Hidden))
		}
	})
	t.Run("again and again", func(t *testing.T) {
		c := newCluster(t)
		c.putSplit(t, doc, 1)
		c.api.Secrets = &appears{Secrets: c.Secrets, late: 100}
		if _, err := c.api.Gather(t.Context(), c.Object); err == nil || !strings.Contains(err.Error(), "it is being written") {
			t.Errorf("got %v, want that it gives up", err)
		}
	})
}
