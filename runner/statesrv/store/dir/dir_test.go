package dir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
	"github.com/captf/captf-runner/runner/statesrv/store/storetest"
)

func open(t *testing.T, path string, opts dir.Options) *dir.Store {
	t.Helper()
	s, err := dir.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		path := t.TempDir()
		return func() store.Store { return open(t, path, dir.Options{}) }
	})
}

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, path, dir.Options{})
	create(t, s, "a/versions/1", "x")
	if err := s.Append(t.Context(), "a/events.jsonl", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want it private", p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNoSymlinkLeadsOut(t *testing.T) {
	path, outside := t.TempDir(), t.TempDir()
	s := open(t, path, dir.Options{})
	if err := os.WriteFile(filepath.Join(outside, "head.json"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(path, "a")); err != nil {
		t.Fatal(err)
	}
	if rec, err := s.Get(t.Context(), "a/head.json"); err == nil {
		t.Errorf("read %q through a symlink", rec.Data)
	}
	if _, err := s.Create(t.Context(), "a/new", []byte("x")); err == nil {
		t.Error("wrote through a symlink")
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file appeared outside: %v", err)
	}
}

var errDisk = errors.New("disk says no")

// TestFailingDisk lets each step of a write fail: the caller gets the error, the
// old value stays, no temporary file is left, and the next try succeeds.
func TestFailingDisk(t *testing.T) {
	for _, step := range []string{"write", "fsync", "link", "fsync directory", "mkdir"} {
		t.Run("create/"+step, func(t *testing.T) {
			path, fail := t.TempDir(), false
			s := open(t, path, dir.Options{Fault: faultAt(step, &fail)})
			if step != "mkdir" { // else it is a directory's step that fails
				create(t, s, "a/first", "x")
			}
			fail = true
			if _, err := s.Create(t.Context(), "a/b", []byte("x")); !errors.Is(err, errDisk) {
				t.Errorf("error = %v, want the disk's", err)
			}
			if err := s.Keep(t.Context(), "a/c", []byte("x")); step != "link" && !errors.Is(err, errDisk) {
				t.Errorf("keep: error = %v, want the disk's", err)
			}
			for _, key := range []string{"a/b", "a/c"} {
				if rec, err := s.Get(t.Context(), key); !errors.Is(err, store.ErrNotFound) && (step != "link" || key != "a/c") {
					t.Errorf("record %s is %q, %v, want none", key, rec.Data, err)
				}
			}
			wantNoTemp(t, path)
			fail = false
			create(t, s, "a/b", "y")
		})
	}
	for _, step := range []string{"write", "fsync", "exchange", "fsync directory"} {
		for _, spare := range []bool{false, true} {
			t.Run(fmt.Sprintf("swap/%s/spare=%v", step, spare), func(t *testing.T) { failSwap(t, step, spare) })
		}
	}
}

func failSwap(t *testing.T, step string, spare bool) {
	path, fail := t.TempDir(), false
	s := open(t, path, dir.Options{Fault: faultAt(step, &fail)})
	rev := create(t, s, "a/b", "first and longer")
	if spare {
		rev = swap(t, s, "a/b", rev, "old")
	}
	old, err := s.Get(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	fail = true
	if _, err := s.Swap(t.Context(), "a/b", rev, []byte("new")); !errors.Is(err, errDisk) {
		t.Errorf("error = %v, want the disk's", err)
	}
	rec, err := s.Get(t.Context(), "a/b")
	if diff := cmp.Diff(old, rec); diff != "" || err != nil {
		t.Errorf("%v, record (-old +now):\n%s", err, diff)
	}
	wantNoTemp(t, path)
	fail = false
	rev = swap(t, s, "a/b", rev, "new")
	swap(t, s, "a/b", rev, "newer")
}

// TestSteps: a record is durable only if nothing of this is left out.
func TestSteps(t *testing.T) {
	var got []string
	s := open(t, t.TempDir(), dir.Options{Fault: func(step, key string) error {
		got = append(got, step+" "+key)
		return nil
	}})
	rev := create(t, s, "a/versions/1", "x")
	want := []string{"mkdir a", "fsync directory .", "mkdir a/versions", "fsync directory a",
		"write a/versions/1", "fsync a/versions/1", "link a/versions/1", "fsync directory a/versions"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}
	got = nil
	if err := s.Keep(t.Context(), "a/versions/2", []byte("x")); err != nil {
		t.Fatal(err)
	}
	want = []string{"write a/versions/2", "fsync a/versions/2", "fsync directory a/versions"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keep (-want +got):\n%s", diff)
	}
	got = nil
	if _, err := s.Swap(t.Context(), "a/versions/1", rev, []byte("y")); err != nil {
		t.Fatal(err)
	}
	want = []string{"write a/versions/1", "fsync a/versions/1", "exchange a/versions/1", "fsync directory a/versions"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("swap (-want +got):\n%s", diff)
	}
	got = nil
	if err := errors.Join(s.Append(t.Context(), "a/log", []byte("line")), s.Sync(t.Context(), "a/log")); err != nil {
		t.Fatal(err)
	}
	want = []string{"fsync a/log", "fsync directory a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("append and sync (-want +got):\n%s", diff)
	}
}

func faultAt(step string, fail *bool) func(string, string) error {
	return func(at, _ string) error {
		if *fail && at == step {
			return errDisk
		}
		return nil
	}
}

func wantNoTemp(t *testing.T, path string) {
	t.Helper()
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(p), ".tmp-") {
			t.Errorf("left behind %s", p)
		}
		return err
	})
}

func TestAloneAndSweep(t *testing.T) {
	path := t.TempDir()
	a := open(t, path, dir.Options{})
	create(t, a, "s/head", "x")
	for _, leftover := range []string{".tmp-crashed", ".spare-head", ".spare-gone"} {
		if err := os.WriteFile(filepath.Join(path, "s", leftover), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, path, dir.Options{})
	if ran, err := b.Alone(t.Context(), func() error { t.Error("ran"); return nil }); ran || err != nil {
		t.Errorf("with two users: ran %v, %v", ran, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var removed []string
	ran, err := b.Alone(t.Context(), func() error {
		wantOthersWait(t, path)
		var err error
		removed, err = b.Sweep(t.Context(), "s")
		return err
	})
	if !ran || err != nil || !slices.Equal(removed, []string{"s/.spare-gone", "s/.tmp-crashed"}) {
		t.Errorf("alone: ran %v, %v, removed %q", ran, err, removed)
	}
	open(t, path, dir.Options{}) // others may come again
}

func wantOthersWait(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if s, err := dir.Open(ctx, path, dir.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("opened during a repair: %v, %v", s, err)
	}
}

func TestTornLineEndsBeforeTheNext(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, dir.Options{})
	for _, step := range []func() error{
		func() error { return s.Append(t.Context(), "a/log", []byte("one")) },
		func() error {
			return os.WriteFile(filepath.Join(path, "a", "log"), []byte("one\n{\"torn"), 0o600)
		},
		func() error { return s.Append(t.Context(), "a/log", []byte("three")) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(path, "a", "log"))
	if string(data) != "one\n{\"torn\nthree\n" {
		t.Errorf("log is %q, %v", data, err)
	}
}

func TestCursorsThatWereNotGivenOut(t *testing.T) {
	s := open(t, t.TempDir(), dir.Options{})
	for _, cursor := range []store.Cursor{"x", "-1", "9999999999999999999999"} {
		for line, err := range s.Lines(t.Context(), "a/log", cursor) {
			if !errors.Is(err, store.ErrCursor) {
				t.Errorf("cursor %q: line %q, error %v, want ErrCursor", cursor, line.Data, err)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, dir.Options{})
	file := filepath.Join(path, "a", "f.json")
	steps := []struct {
		name string
		do   func(store.Files) error
		want string
		err  error
	}{
		{"extend nothing", func(f store.Files) error { return f.Extend("f.json", "]", []byte("x")) }, "", store.ErrConflict},
		{"put", func(f store.Files) error { return f.Put("f.json", []byte("[1]")) }, "[1]", nil},
		{"extend", func(f store.Files) error { return f.Extend("f.json", "]", []byte(",2]")) }, "[1,2]", nil},
		{"shorten", func(f store.Files) error { return f.Extend("f.json", ",2]", []byte("]")) }, "[1]", nil},
		{"other tail", func(f store.Files) error { return f.Extend("f.json", "}", []byte("x")) }, "[1]", store.ErrConflict},
		{"longer tail", func(f store.Files) error { return f.Extend("f.json", "long tail", nil) }, "[1]", store.ErrConflict},
		{"bad name", func(f store.Files) error { return f.Put("../f", nil) }, "[1]", store.ErrKey},
		{"remove", func(f store.Files) error { return f.Remove("f.json") }, "", nil},
		{"remove again", func(f store.Files) error { return f.Remove("f.json") }, "", nil},
	}
	for _, step := range steps {
		err := s.Files(t.Context(), "a", step.do)
		if !errors.Is(err, step.err) {
			t.Errorf("%s: error %v, want %v", step.name, err, step.err)
		}
		if data, _ := os.ReadFile(file); string(data) != step.want {
			t.Errorf("%s: file is %q, want %q", step.name, data, step.want)
		}
	}
}

// A person may remove a state's directory while a server runs.
func TestDirectoryRemovedByHand(t *testing.T) {
	path := t.TempDir()
	s := open(t, path, dir.Options{})
	create(t, s, "a/head", "x")
	if err := os.RemoveAll(filepath.Join(path, "a")); err != nil {
		t.Fatal(err)
	}
	create(t, s, "a/head", "y")
	create(t, s, "a/versions/1", "x")
	if err := os.RemoveAll(filepath.Join(path, "a")); err != nil {
		t.Fatal(err)
	}
	create(t, s, "a/versions/1", "y")

	create(t, s, "b/head", "x") // b is known to be there, and b/versions is not
	if err := os.RemoveAll(filepath.Join(path, "b")); err != nil {
		t.Fatal(err)
	}
	create(t, s, "b/versions/1", "y")
}

func create(t *testing.T, s *dir.Store, key, data string) store.Revision {
	t.Helper()
	rev, err := s.Create(t.Context(), key, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func swap(t *testing.T, s *dir.Store, key string, old store.Revision, data string) store.Revision {
	t.Helper()
	rev, err := s.Swap(t.Context(), key, old, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// A module's root, say, is not made a store, and nothing is put there.
func TestDirectoryOfSomethingElse(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		fine  bool
	}{
		"nothing":                 {nil, true},
		"a new file system":       {[]string{"lost+found/x", ".snapshots/x"}, true},
		"a module":                {[]string{"main.tf", ".terraform/modules.json"}, false},
		"modules":                 {[]string{"network/main.tf"}, false},
		"a copy without dotfiles": {[]string{"README", "prod/head.json"}, true},
		"a state without a head":  {[]string{"prod/versions.json", "prod/state.tfstate"}, true},
		"a store":                 {[]string{".statesrv", "README"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			for _, file := range c.files {
				if err := os.MkdirAll(filepath.Join(path, filepath.Dir(file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(path, file), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.fine {
				open(t, path, dir.Options{})
				return
			}
			_, err := dir.Open(t.Context(), path, dir.Options{})
			if err == nil || !strings.Contains(err.Error(), "and no state") {
				t.Errorf("opened: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(path, ".statesrv")); err == nil {
				t.Error("it put its file there")
			}
		})
	}
}
