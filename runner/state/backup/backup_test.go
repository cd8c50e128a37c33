package backup_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/statetest"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
)

// TestTake backs up what a runtime wrote, changes it, and puts it back with the runtime's own means.
func TestTake(t *testing.T) {
	eachRuntime(t, func(t *testing.T, c *cluster, runtime tools.Runtime) {
		m := c.Apply(t, runtime, oneResource)
		pulled := m.Must(t, "state", "pull")
		base := c.Secret(t, 0)
		set := c.take(t, true)
		c.wantVerbatim(t, set, base.Data[state.DataKey])
		if again := c.take(t, false); !cmp.Equal(again, set, cmpopts.IgnoreUnexported(set)) { // it is there
			t.Errorf("again: %+v, want %+v", again, set)
		}

		m.Must(t, "apply", "-input=false", "-auto-approve", "-replace=terraform_data.one")
		second := c.take(t, true)
		if diff := cmp.Diff([]backup.Set{second, set}, c.list(t), cmpopts.IgnoreUnexported(backup.Set{})); diff != "" {
			t.Errorf("sets (-want +got):\n%s", diff)
		}
		if _, err := c.gather(t).Read(true); err != nil {
			t.Errorf("with backups the state cannot be read: %v", err)
		}
		content := c.load(t, set)
		doc, err := content.Source.Open()
		if err != nil {
			t.Fatal(err)
		}
		var restored bytes.Buffer
		if _, err := io.Copy(&restored, doc); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.Dir, "restored"), restored.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Must(t, "state", "push", "-force", "restored")
		// A forced push gives the state the serial after the one that it had, which has a backup already.
		pulled = strings.Replace(strings.Replace(pulled, `"serial": 2`, `"serial": 3`, 1), `"serial":2`, `"serial":3`, 1)
		if diff := cmp.Diff(pulled, m.Must(t, "state", "pull")); diff != "" {
			t.Errorf("restored (-want +got):\n%s", diff)
		}
		if third := c.take(t, true); third.Serial != second.Serial || third.Name == second.Name || len(c.list(t)) != 3 {
			t.Errorf("the backup after the restore, %+v, is in the way of %+v", third, second)
		}
	})
}

// wantVerbatim compares a backup of one Secret with the bytes that it is of, and looks at what is said about it.
func (c *cluster) wantVerbatim(t *testing.T, set backup.Set, data []byte) {
	t.Helper()
	sum, err := c.gather(t).Read(true)
	if err != nil {
		t.Fatal(err)
	}
	secret := c.get(t, naming.BackupSecret(c.Suffix, sum.Serial, 0))
	if !bytes.Equal(secret.Data[state.DataKey], data) {
		t.Error("it has other bytes")
	}
	doc, err := c.gather(t).Source(true).Open()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, doc); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		naming.AnnotationSerial: fmt.Sprint(sum.Serial), naming.AnnotationLineage: sum.Lineage, naming.AnnotationParts: "1",
		naming.AnnotationDigest: hex.EncodeToString(hash.Sum(nil)), naming.AnnotationBackedUpAt: "2026-01-02T03:05:05.000000006Z",
	}
	if diff := cmp.Diff(want, secret.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	wantLabels, err := naming.Labels(c.Object)
	if err != nil {
		t.Fatal(err)
	}
	wantLabels["captf.io/backup"], wantLabels["captf.io/state-suffix"] = "true", c.Suffix
	if diff := cmp.Diff(wantLabels, secret.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if set.Name != secret.Name || set.Serial != sum.Serial || set.Lineage != sum.Lineage || set.Size != int64(len(data)) {
		t.Errorf("set %+v is not what was stored", set)
	}
}

// TestTakeEncrypted copies what nobody here can read.
func TestTakeEncrypted(t *testing.T) {
	c := newCluster(t)
	m := c.Apply(t, tools.Runtimes(t)[0], oneResource, `TF_ENCRYPTION=key_provider "pbkdf2" "p" { passphrase = "correct-horse-battery-staple" }
method "aes_gcm" "m" { keys = key_provider.pbkdf2.p }
state { method = method.aes_gcm.m }
`)
	set := c.take(t, true)
	content := c.load(t, set)
	if !content.Encrypted || content.Summary.Serial != set.Serial || content.Summary.Lineage != set.Lineage || set.Lineage == "" {
		t.Errorf("set %+v, content %+v", set, content.Summary)
	}
	if !bytes.Equal(content.Source.Chunks[0].Data, c.Secret(t, 0).Data[state.DataKey]) {
		t.Error("it has other bytes")
	}
	if pulled := m.Must(t, "state", "pull"); !strings.Contains(pulled, set.Lineage) {
		t.Errorf("lineage %s is not that of the state", set.Lineage)
	}
	c.take(t, false)
}

// TestTakeChunks copies every Secret as it is, and none that stayed behind when the state shrank.
func TestTakeChunks(t *testing.T) {
	c := newCluster(t)
	doc := statetest.State(t, tools.Runtimes(t)[1], oneResource)
	c.putSplit(t, doc, 3)
	c.PutChunk(t, naming.StateSecret(c.Suffix, 3), []byte("of before"))
	set := c.take(t, true)
	if names := set.Secrets(); len(names) != 3 {
		t.Fatalf("backup in %q, want three Secrets", names)
	}
	for part, name := range set.Secrets() {
		if !bytes.Equal(c.get(t, name).Data[state.DataKey], c.Secret(t, part).Data[state.DataKey]) {
			t.Errorf("%s has other bytes than part %d", name, part)
		}
	}
	if sum := c.load(t, set).Summary; sum.Resources != 1 || sum.Size != int64(len(doc)) {
		t.Errorf("loaded %+v", sum)
	}
}

// TestTakeNothing has no state, and states of which no backup can be had.
func TestTakeNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		data []byte
		want state.Reason
	}{
		"no state":  {nil, state.NotFound},
		"damaged":   {[]byte("no gzip"), state.Corrupt},
		"version 3": {statetest.Gzip([]byte(`{"version":3,"serial":1}`)), state.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if tt.data != nil {
				c.Put(t, tt.data)
			}
			if _, _, err := c.store.Take(t.Context(), c.gather(t)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestTakeInterrupted is interrupted after each part. What it leaves is not offered; the next backup of the same state
// completes it, even if the state was cut in another way meanwhile.
func TestTakeInterrupted(t *testing.T) {
	c := newCluster(t)
	doc := statetest.State(t, tools.Runtimes(t)[1], oneResource)
	c.putSplit(t, doc, 3)
	for n := range 3 {
		c.interrupt(t, n)
		set := c.take(t, true)
		if sum := c.load(t, set).Summary; sum.Resources != 1 {
			t.Errorf("loaded %+v", sum)
		}
		if err := c.store.Remove(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	c.interrupt(t, 2)
	data := statetest.Gzip(doc)
	for i, end := range []int{10, 20, len(data)} { // in as many parts, but in other places
		c.Change(t, i, func(s *corev1.Secret) { s.Data[state.DataKey] = data[i*10 : end] })
	}
	c.load(t, c.take(t, true))
	if err := c.store.Remove(t.Context(), c.list(t)[0]); err != nil {
		t.Fatal(err)
	}
	c.interrupt(t, 2)
	c.Change(t, 0, func(s *corev1.Secret) { s.Data[state.DataKey] = data }) // a runtime that does not cut
	set := c.take(t, true)
	if names := set.Secrets(); len(names) != 1 {
		t.Errorf("backup in %q, want one Secret", names)
	}
	c.load(t, set)
	if all := c.list(t); len(all) != 1 || !all[0].Complete() {
		t.Errorf("with the parts of before there is %+v, want one complete set", all)
	}
	if err := c.store.Remove(t.Context(), c.list(t)[0]); err != nil {
		t.Fatal(err)
	}
	if all := c.list(t); len(all) > 0 {
		t.Errorf("%+v is left", all)
	}
}

// interrupt takes a backup that is killed after n parts.
func (c *cluster) interrupt(t *testing.T, n int) {
	t.Helper()
	store := backup.Store{Secrets: &killed{c.Secrets, n}, Now: c.store.Now}
	if _, _, err := store.Take(t.Context(), c.gather(t)); !errors.Is(err, errKilled) {
		t.Fatalf("got %v", err)
	}
	for _, set := range c.list(t) {
		if set.Complete() {
			t.Errorf("after %d parts %s is complete", n, set.Name)
		}
		if _, err := c.store.Load(t.Context(), c.Object, set); !errors.Is(err, backup.ErrIncomplete) {
			t.Errorf("after %d parts %s loads with %v", n, set.Name, err)
		}
	}
}

// TestTakeTogether has ten controllers back up one state.
func TestTakeTogether(t *testing.T) {
	c := newCluster(t)
	c.putSplit(t, statetest.State(t, tools.Runtimes(t)[0], oneResource), 3)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, _, err := (backup.Store{Secrets: c.Secrets}).Take(t.Context(), c.gather(t)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if sets := c.list(t); len(sets) != 1 || !sets[0].Complete() {
		t.Errorf("got %+v, want one complete set", sets)
	}
}

// TestTakeSerialAgain has another state with a serial that has a backup: neither is lost.
func TestTakeSerialAgain(t *testing.T) {
	c := newCluster(t)
	var sets []backup.Set
	for _, lineage := range []string{"a", "b"} {
		c.put(t, 7, lineage)
		sets = append(sets, c.take(t, true))
		c.take(t, false)
	}
	if sets[0].Name == sets[1].Name {
		t.Fatalf("both are called %s", sets[0].Name)
	}
	for i, lineage := range []string{"a", "b"} {
		if got := c.load(t, sets[i]).Summary.Lineage; got != lineage {
			t.Errorf("%s has lineage %s, want %s", sets[i].Name, got, lineage)
		}
	}
}

// put stores a small state.
func (c *cluster) put(t *testing.T, serial int, lineage string) {
	t.Helper()
	data := statetest.Gzip(fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":%q,"outputs":{},"resources":[]}`, serial, lineage))
	if len(c.gather(t).Found) == 0 {
		c.Put(t, data)
		return
	}
	c.Change(t, 0, func(s *corev1.Secret) { s.Data[state.DataKey] = data })
}

// TestLoadDamaged has a backup that says another digest than it has.
func TestLoadDamaged(t *testing.T) {
	c := newCluster(t)
	c.put(t, 1, "a")
	set := c.take(t, true)
	secret := c.get(t, set.Name)
	secret.Immutable = nil
	secret.Data[state.DataKey] = statetest.Gzip([]byte(`{"version":4,"serial":1,"lineage":"a","outputs":{},"resources":[ ]}`))
	if _, err := c.Secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err == nil {
		t.Error("a backup can be changed")
	}
	if err := c.store.Remove(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	secret.ResourceVersion, secret.UID = "", ""
	if _, err := c.Secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.store.Load(t.Context(), c.Object, set); !errors.Is(err, state.Corrupt) || !strings.Contains(err.Error(), "digest") {
		t.Errorf("got %v, want that the digest is another", err)
	}
}

// TestListOthers has copies of other objects, and Secrets that are called like copies without being one.
func TestListOthers(t *testing.T) {
	c := newCluster(t)
	c.put(t, 1, "a")
	set := c.take(t, true)
	for _, name := range []string{
		naming.BackupSecret("0123456789abcdef-m", 1, 0), naming.RescueSecret("0123456789abcdef-m", 1, 0), naming.RescueSecret(c.Suffix, 1, 0) + "-x",
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			naming.LabelRescue: "true", naming.LabelBackup: "true", naming.LabelCopySuffix: c.Suffix,
		}}}
		if _, err := c.Secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if sets := c.list(t); len(sets) != 1 || sets[0].Name != set.Name {
		t.Errorf("got %+v, want only %s", sets, set.Name)
	}
}
