package statesrv_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// A file that the server may not read, since root has made it, is told of, and keeps neither the other states nor the
// server from anything.
func TestRepairWithoutPermission(t *testing.T) {
	path := t.TempDir()
	store := openDir(t, path)
	states := statesrv.NewStates(store, statesrv.Rules{})
	for _, name := range []string{"a", "b"} {
		mustWrite(t, states, name, "", doc(1, "l"))
	}
	states.Flush(t.Context())
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(path, "b", ".tmp-LEFT")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	openToAll(t, filepath.Dir(path))
	for _, file := range []string{"events.jsonl", "versions.json", "versions"} {
		t.Run(file, func(t *testing.T) {
			hidden := filepath.Join(path, "a", file)
			if err := os.Chmod(hidden, 0); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(hidden, 0o777)
			findings := repairAsNobody(t, path)
			if !slices.ContainsFunc(findings, func(f statesrv.Finding) bool {
				return f.State == "a" && f.Damage && strings.Contains(f.Text, "permission denied")
			}) {
				t.Errorf("found %v, want that of state a %s may not be read", findings, file)
			}
		})
	}
	if _, err := os.Lstat(left); err == nil {
		t.Error("what a crash left in state b is still there")
	}
}

func openToAll(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(file, 0o777)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// repairAsNobody repairs on a thread that has not the rights of root. The tests run as root.
func repairAsNobody(t *testing.T, path string) (findings []statesrv.Finding) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		err := unix.Setfsuid(65534)
		var store *dir.Store
		if err == nil {
			store, err = dir.Open(t.Context(), path, dir.Options{})
		}
		if err == nil {
			findings, err = statesrv.NewStates(store, statesrv.Rules{}).Repair(t.Context())
			err = errors.Join(err, store.Close())
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return findings
}
