package backup_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/kubetest"
	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
)

// TestCheckMissing has copies of a state that is gone: what the newest one says decides.
func TestCheckMissing(t *testing.T) {
	full := statetest.State(t, tools.Runtimes(t)[1], oneResource)
	destroyed := []byte(`{"version":4,"serial":9,"lineage":"a","outputs":{},"resources":[]}`)
	encrypted := []byte(`{"encryption_version":"v0","serial":9,"lineage":"a"}`)
	for name, tt := range map[string]struct {
		states [][]byte // of which there are backups, oldest first
		change func(t *testing.T, c *cluster, newest backup.Set)
		says   string // empty for a state that is not lost
	}{
		"never there":        {},
		"applied":            {states: [][]byte{full}, says: "which has resources (1)"},
		"destroyed":          {states: [][]byte{full, destroyed}},
		"made anew and lost": {states: [][]byte{full, destroyed, full}, says: "which has resources (1)"},
		"encrypted":          {states: [][]byte{destroyed, encrypted}, says: "which is encrypted"},
		"newest incomplete": {states: [][]byte{destroyed}, says: "which cannot be read", change: func(t *testing.T, c *cluster, _ backup.Set) {
			c.incomplete(t, 90, c.clock)
		}},
		"newest damaged": {states: [][]byte{destroyed}, says: "which cannot be read", change: func(t *testing.T, c *cluster, newest backup.Set) {
			c.rewrite(t, newest.Name, []byte("no gzip"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			for i, doc := range tt.states {
				c.replace(t, strings.Replace(string(doc), `"serial"`, fmt.Sprintf(`"i":%d,"serial"`, i), 1))
				newest := c.take(t, true)
				if tt.change != nil {
					tt.change(t, c, newest)
				}
			}
			err := c.store.CheckMissing(t.Context(), c.Object)
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("got %v, want that the object may begin anew", err)
			case tt.says != "" && (!errors.Is(err, state.Lost) || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("got %v, want %s and %q", err, state.Lost, tt.says)
			}
		})
	}
}

// replace puts a document into the place of the state.
func (c *cluster) replace(t *testing.T, doc string) {
	t.Helper()
	data := statetest.Gzip([]byte(doc))
	if len(c.gather(t).Found) == 0 {
		c.Put(t, data)
		return
	}
	c.Change(t, 0, func(s *corev1.Secret) { s.Data[state.DataKey] = data })
}

// rewrite makes a copy anew with other bytes.
func (c *cluster) rewrite(t *testing.T, name string, data []byte) {
	t.Helper()
	secret := c.get(t, name)
	if err := c.Secrets.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	secret.ResourceVersion, secret.UID, secret.Data[state.DataKey] = "", "", data
	if _, err := c.Secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// What cannot be listed is no answer.
func TestCheckMissingUnanswered(t *testing.T) {
	c := newCluster(t)
	secrets, _ := c.As(t, kubetest.Shared(t))
	err := backup.Store{Secrets: secrets}.CheckMissing(t.Context(), c.Object)
	if !apierrors.IsForbidden(err) || errors.Is(err, state.Lost) {
		t.Errorf("got %v, want that it is forbidden", err)
	}
}
