package e2e

import (
	"errors"
	"strconv"
	"testing"

	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// library is what a controller uses of the library for the object.
func (k *kubernetes) library() (chunks.API, backup.Store) {
	client := k.server.Clientset()
	secrets := client.CoreV1().Secrets(k.object.Namespace)
	return chunks.API{Secrets: secrets, Leases: client.CoordinationV1().Leases(k.object.Namespace)}, backup.Store{Secrets: secrets}
}

func (k *kubernetes) gather(t *testing.T) *chunks.Set {
	t.Helper()
	api, _ := k.library()
	set, err := api.Gather(t.Context(), k.object)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// copyNamed lists the copies of the object's state as a controller does, and returns the one with the name.
func (k *kubernetes) copyNamed(t *testing.T, name string) backup.Set {
	t.Helper()
	_, store := k.library()
	all, err := store.List(t.Context(), k.object)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range all {
		if set.Name == name && set.Complete() {
			return set
		}
	}
	t.Fatalf("%+v has no complete set %s", all, name)
	return backup.Set{}
}

// restore loads a copy and hands it to a run, as a controller does.
func (f *fixture) restore(t *testing.T, k *kubernetes, name string, flags ...string) outcome {
	t.Helper()
	_, store := k.library()
	content, err := store.Load(t.Context(), k.object, k.copyNamed(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, chunk := range content.Source.Chunks {
		files = append(files, chunk.Data)
	}
	f.chunks(t, files...)
	flags = append(flags, "--restore-chunks", strconv.Itoa(len(files)), "--restore-resources", strconv.Itoa(content.Summary.Resources))
	return f.must(t, 0, "restore", flags...)
}

// TestRestoreBackup loses a state that the library has backed up: the backup brings it back as it was, although an empty
// state of another lineage has taken its place by then.
func TestRestoreBackup(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		t.Parallel()
		f.must(t, 0, "apply")
		api, store := k.library()
		made, _, err := store.Take(t.Context(), k.gather(t))
		if err != nil {
			t.Fatal(err)
		}
		err = api.Delete(t.Context(), chunks.Deletion{Object: k.object})
		if !errors.Is(err, chunks.ErrResources) {
			t.Errorf("deleting a state with resources gives %v", err)
		}
		if err := api.Delete(t.Context(), chunks.Deletion{Object: k.object, AlthoughResources: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.gather(t).Read(true); !errors.Is(err, state.Lost) {
			t.Errorf("reading gives %v, want %s", err, state.Lost)
		}
		f.must(t, 0, "plan", "--plan-key-file", f.planKey(t)) // makes an empty state
		current, err := k.gather(t).Read(true)
		if err != nil {
			t.Fatal(err)
		}
		set := k.copyNamed(t, made.Name)
		if err := set.CheckLineage(current, ""); !errors.Is(err, backup.ErrLineage) {
			t.Errorf("restoring over another lineage gives %v", err)
		}
		if err := set.CheckLineage(current, set.Lineage); err != nil {
			t.Error(err)
		}
		f.restore(t, k, made.Name, "--workdir", f.dir+"/fresh")
		if sum, err := k.gather(t).Read(true); err != nil || sum.Lineage != set.Lineage || sum.Resources != 2 {
			t.Errorf("read %+v, %v; want 2 resources of lineage %s", sum, err, set.Lineage)
		}
		f.wantNothingToDo(t, "--workdir", f.dir+"/fresh")
	})
}
