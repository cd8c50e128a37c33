package backup_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state/backup"
)

// TestPrune keeps the newest five that are complete, whatever else is there.
func TestPrune(t *testing.T) {
	c := newCluster(t)
	var names []string
	for serial := range 8 {
		c.put(t, serial, "a")
		names = append(names, c.take(t, true).Name)
	}
	c.put(t, 2, "restored") // the newest, with a low serial
	names = append(names, c.take(t, true).Name)
	rescue := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: naming.RescueSecret(c.Suffix, 1, 0), Labels: map[string]string{naming.LabelRescue: "true"}}}
	if _, err := c.Secrets.Create(t.Context(), rescue, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.incomplete(t, 90, c.clock)                                    // is being written
	c.incomplete(t, 91, c.clock.Add(-backup.Abandoned-time.Minute)) // was left

	removed, err := c.store.Prune(t.Context(), c.Object, backup.Keep)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]string{naming.BackupSecret(c.Suffix, 91, 1)}, names[:4]...)
	want[0] = naming.BackupSecret(c.Suffix, 91, 0)
	if diff := cmp.Diff(want, removed, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	var left []string
	for _, set := range c.list(t) {
		left = append(left, set.Name)
	}
	want = append(names[4:], rescue.Name, naming.BackupSecret(c.Suffix, 90, 0))
	if diff := cmp.Diff(want, left, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if removed, err := c.store.Prune(t.Context(), c.Object, backup.Keep); len(removed) > 0 || err != nil {
		t.Errorf("again: %q, %v", removed, err)
	}
}

// incomplete makes the second part of a set of two.
func (c *cluster) incomplete(t *testing.T, serial uint64, at time.Time) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name:   naming.BackupSecret(c.Suffix, serial, 1),
		Labels: map[string]string{naming.LabelBackup: "true", naming.LabelCopySuffix: c.Suffix},
		Annotations: map[string]string{
			naming.AnnotationParts: "2", naming.AnnotationBackedUpAt: at.Format(time.RFC3339Nano), naming.AnnotationDigest: "00",
		},
	}}
	if _, err := c.Secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestRemoveInterrupted is interrupted after each Secret: what is left is not offered, and goes next time.
func TestRemoveInterrupted(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, statetest.State(t, tools.Runtimes(t)[0], oneResource), 3)
	for n := range 3 {
		set := c.take(t, true)
		store := backup.Store{Secrets: &killed{c.Secrets, n}}
		if err := store.Remove(t.Context(), set); !errors.Is(err, errKilled) {
			t.Fatalf("got %v", err)
		}
		left := c.list(t)
		if len(left) != 1 || left[0].Complete() != (n == 0) || left[0].Digest != set.Digest {
			t.Errorf("after %d: %+v", n, left)
		}
		c.clock = c.clock.Add(time.Hour)
		if _, err := c.store.Prune(t.Context(), c.Object, 0); err != nil {
			t.Fatal(err)
		}
		if left := c.list(t); len(left) > 0 {
			t.Errorf("left after pruning: %+v", left)
		}
	}
}
