package dir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv/store"
)

// start makes a store with the record a/b.
func start(t *testing.T, opts Options) (s *Store, file string, rev store.Revision) {
	t.Helper()
	path := t.TempDir()
	s, err := Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	rev, err = s.Create(t.Context(), "a/b", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}
	return s, filepath.Join(path, "a", "b"), rev
}

func inode(t *testing.T, file string) uint64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// A swap makes no file and frees none.
func TestSwapTakesTurnsBetweenTwoFiles(t *testing.T) {
	s, file, rev := start(t, Options{})
	inodes := map[uint64]bool{}
	for n := range 10 {
		var err error
		if rev, err = s.Swap(t.Context(), "a/b", rev, fmt.Append(nil, n)); err != nil {
			t.Fatal(err)
		}
		inodes[inode(t, file)] = true
	}
	if len(inodes) != 2 {
		t.Errorf("ten swaps used %d files, want 2", len(inodes))
	}
}

// A file that is being read is not written to.
func TestSwapLeavesASlowReaderAlone(t *testing.T) {
	s, file, rev := start(t, Options{})
	reader, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := flock(t.Context(), reader, shared); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"1", "2", "3"} {
		if rev, err = s.Swap(t.Context(), "a/b", rev, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := io.ReadAll(reader); string(got) != "0" {
		t.Errorf("the slow reader reads %q, %v; want the value that it opened", got, err)
	}
	if rec, err := s.Get(t.Context(), "a/b"); string(rec.Data) != "3" {
		t.Errorf("the record is %q, %v; want the last value", rec.Data, err)
	}
}

// Readers see one value or another, never parts of two.
func TestReadersDuringSwaps(t *testing.T) {
	s, _, rev := start(t, Options{})
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				rec, err := s.Get(t.Context(), "a/b")
				if err != nil || len(bytes.TrimRight(rec.Data, string(rec.Data[0]))) > 0 {
					t.Errorf("read %.20q…, %v", rec.Data, err)
					return
				}
			}
		})
	}
	for n := range 300 {
		var err error
		if rev, err = s.Swap(t.Context(), "a/b", rev, bytes.Repeat([]byte{'a' + byte(n%26)}, 5000+n*977%90_000)); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	group.Wait()
}

// Some systems cannot exchange names.
func TestSwapWithoutExchange(t *testing.T) {
	s, file, rev := start(t, Options{Fault: func(step, _ string) error {
		if step == "exchange" {
			return errNoExchange
		}
		return nil
	}})
	for _, data := range []string{"one", "2", "three"} {
		var err error
		if rev, err = s.Swap(t.Context(), "a/b", rev, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); string(got) != data {
			t.Errorf("the record is %q, %v; want %q", got, err, data)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".[st][pem]*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind %q, %v", left, err)
	}
}

// Where names cannot be exchanged, a rename that fails leaves the old value.
func TestRenameFails(t *testing.T) {
	errDisk, fail := errors.New("disk says no"), true
	s, file, rev := start(t, Options{Fault: func(step, _ string) error {
		switch {
		case step == "exchange":
			return errNoExchange
		case step == "rename" && fail:
			return errDisk
		}
		return nil
	}})
	if _, err := s.Swap(t.Context(), "a/b", rev, []byte("1")); !errors.Is(err, errDisk) {
		t.Errorf("error = %v, want the disk's", err)
	}
	if rec, err := s.Get(t.Context(), "a/b"); string(rec.Data) != "0" || rec.Revision != rev {
		t.Errorf("after it the record is %q, %v; want the old one", rec.Data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind %q", left)
	}
	fail = false
	if _, err := s.Swap(t.Context(), "a/b", rev, []byte("2")); err != nil {
		t.Error(err)
	}
}
