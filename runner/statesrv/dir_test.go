package statesrv_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// What a person finds on the disk.
func TestFilesForPeople(t *testing.T) {
	path := t.TempDir()
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	state := filepath.Join(path, "team%2Fprod")
	const name = "team/prod"

	mustLock(t, states, name, lockA)
	states.Flush(t.Context())
	wantFile(t, state, "lock.json", lockA+"\n")
	wantNoFile(t, state, "state.tfstate")
	for serial := range 3 {
		mustWrite(t, states, name, "a", doc(serial, "l"))
		states.Flush(t.Context())
		wantFile(t, state, "state.tfstate", doc(serial, "l"))
	}
	wantFile(t, state, "versions/000001.tfstate", doc(0, "l"))
	wantFile(t, state, "versions/000003.tfstate", doc(2, "l"))
	wantNumbers(t, state, 1, 2, 3)
	info, err := os.Stat(filepath.Join(state, "state.tfstate"))
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("state.tfstate: %v, %v; want it read-only, for it is the version's own file", info.Mode(), err)
	}

	if _, err := states.Unlock(t.Context(), name, statesrv.UnlockRequest{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	states.Flush(t.Context())
	wantNoFile(t, state, "lock.json")
	if err := states.Delete(t.Context(), name, statesrv.DeleteRequest{}); err != nil {
		t.Fatal(err)
	}
	states.Flush(t.Context())
	wantNoFile(t, state, "state.tfstate")
	if _, err := states.Restore(t.Context(), name, statesrv.RestoreRequest{Version: 1}); err != nil {
		t.Fatal(err)
	}
	states.Flush(t.Context())
	wantFile(t, state, "state.tfstate", doc(3, "l"))
	wantNumbers(t, state, 1, 2, 3, 4)
	if lines := strings.Count(readFile(t, state, "events.jsonl"), "\n"); lines != 7 {
		t.Errorf("events.jsonl has %d lines, want 7", lines)
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func wantFile(t *testing.T, dir, name, want string) {
	t.Helper()
	if got := readFile(t, dir, name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func wantNoFile(t *testing.T, dir, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v, want none", name, err)
	}
}

// wantNumbers checks that versions.json is an array with these versions.
func wantNumbers(t *testing.T, dir string, want ...int) {
	t.Helper()
	var versions []statesrv.Version
	if err := json.Unmarshal([]byte(readFile(t, dir, "versions.json")), &versions); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, v := range versions {
		got = append(got, v.Number)
	}
	if !slices.Equal(got, want) {
		t.Errorf("versions.json has %v, want %v", got, want)
	}
}

// TestRepair damages a state's files as a crash or a person does, and checks what
// the next start says and does.
func TestRepair(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, state string)
		says   string // "" for nothing
		check  func(t *testing.T, state string)
	}{
		{"nothing", func(*testing.T, string) {}, "", nil},
		{"a body without an entry", writes("versions/000004.tfstate", doc(3, "l")), "removed versions/000004.tfstate",
			func(t *testing.T, state string) { wantNoFile(t, state, "versions/000004.tfstate") }},
		{"a second body of a version", writes("versions/000002-abcdefgh.tfstate", doc(3, "l")), "kept versions/000002-abcdefgh.tfstate as ",
			func(t *testing.T, state string) { wantNoFile(t, state, "versions/000002-abcdefgh.tfstate") }},
		{"an unfinished write", writes("versions/.tmp-crashed", "{"), ".tmp-crashed",
			func(t *testing.T, state string) { wantNoFile(t, state, "versions/.tmp-crashed") }},
		{"a torn event", appends("events.jsonl", `{"id":"x","ti`), "cut the last line of events.jsonl, 13 bytes", nil},
		{"events lost", writes("events.jsonl", ""), "added 3 events", nil},
		{"no events", removes("events.jsonl"), "added 3 events", nil},
		{"versions.json lost", removes("versions.json"), "said version 0, now 3", nil},
		{"versions.json torn", appends("versions.json", `,{"number":`), "said version 0, now 3", nil},
		{"versions.json behind", behind, "said version 2, now 3", nil},
		{"state.tfstate lost", removes("state.tfstate"), "state.tfstate was missing or empty", nil},
		{"state.tfstate empty", rewrites("state.tfstate", ""), "state.tfstate was missing or empty", nil},
		{"state.tfstate edited", rewrites("state.tfstate", `{"edited":true}`), "kept as state.tfstate.edited-",
			func(t *testing.T, state string) {
				aside, err := filepath.Glob(filepath.Join(state, "state.tfstate.edited-*"))
				if err != nil || len(aside) != 1 {
					t.Fatalf("kept aside: %q, %v", aside, err)
				}
				wantFile(t, state, filepath.Base(aside[0]), `{"edited":true}`)
			}},
		{"lock.json left", writes("lock.json", lockB), "lock.json", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			fill(t, path)
			state := filepath.Join(path, "s")
			c.damage(t, state)
			said := restart(t, path)
			if c.says == "" && said != "" || !strings.Contains(said, c.says) {
				t.Errorf("repair says %q, want %q", said, c.says)
			}
			wantFile(t, state, "state.tfstate", doc(2, "l"))
			wantNumbers(t, state, 1, 2, 3)
			wantNoFile(t, state, "lock.json")
			if lines := strings.Count(readFile(t, state, "events.jsonl"), "\n"); lines != 3 {
				t.Errorf("events.jsonl has %d lines, want 3", lines)
			}
			if c.check != nil {
				c.check(t, state)
			}
			if again := restart(t, path); again != "" {
				t.Errorf("the second repair says %q", again)
			}
		})
	}
}

// A start, and a proof of the store that was cut off, leave no files behind.
func TestProofsLeaveNothing(t *testing.T) {
	path := t.TempDir()
	files := func() int { return len(listed(t, filepath.Join(path, store.ProofDir))) }
	st := openDir(t, path)
	if err := store.Prove(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	if n := files(); n != 0 {
		t.Errorf("a proof left %d files", n)
	}
	if _, err := st.Create(t.Context(), store.ProofDir+"/cutoff", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".tmp-cutoff", ".spare-cutoff", ".spare-older"} {
		writes(name, "x")(t, filepath.Join(path, store.ProofDir))
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if said := restart(t, path); said != "" {
		t.Errorf("repair says %q", said)
	}
	if n := files(); n != 0 {
		t.Errorf("the next start left %d files", n)
	}
}

func listed(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// fill makes state s with three versions and three events.
func fill(t *testing.T, path string) {
	t.Helper()
	store := openDir(t, path)
	states := statesrv.NewStates(store, statesrv.Rules{})
	for serial := range 3 {
		mustWrite(t, states, "s", "", doc(serial, "l"))
	}
	mustLock(t, states, "t", lockA) // another state, which stays as it is
	states.Flush(t.Context())
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// restart opens the directory as a new process does, and returns what it says.
func restart(t *testing.T, path string) string {
	t.Helper()
	store, err := dir.Open(t.Context(), path, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	findings, err := statesrv.NewStates(store, statesrv.Rules{}).Repair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, f := range findings {
		said = append(said, f.State+": "+f.Text)
	}
	return strings.Join(said, "\n")
}

func writes(name, data string) func(*testing.T, string) {
	return func(t *testing.T, state string) {
		if err := os.WriteFile(filepath.Join(state, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// rewrites makes a new file in place of the old, as careful editors do.
func rewrites(name, data string) func(*testing.T, string) {
	return func(t *testing.T, state string) {
		removes(name)(t, state)
		writes(name, data)(t, state)
	}
}

func appends(name, data string) func(*testing.T, string) {
	return func(t *testing.T, state string) { writes(name, readFile(t, state, name)+data)(t, state) }
}

func removes(name string) func(*testing.T, string) {
	return func(t *testing.T, state string) {
		if err := os.Remove(filepath.Join(state, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// behind is a crash between the swap of the head and the files for people.
func behind(t *testing.T, state string) {
	lines := strings.Split(readFile(t, state, "versions.json"), "\n")
	lines[2] = strings.TrimSuffix(lines[2], ",")
	writes("versions.json", strings.Join(slices.Delete(lines, 3, 4), "\n"))(t, state)
	rewrites("state.tfstate", doc(1, "l"))(t, state)
}

func TestDamageThatAPersonHasToRepair(t *testing.T) {
	for _, c := range []struct {
		name    string
		damage  func(t *testing.T, state string)
		says    string
		version int
	}{
		{"current bytes lost", removes("versions/000003.tfstate"), "bytes of version 3", 3},
		{"older bytes lost", removes("versions/000002.tfstate"), "bytes of version 2", 2},
		{"state.tfstate edited in place", writes("state.tfstate", strings.Replace(doc(2, "l"), "[]", "{}", 1)), "restore an older version or push", 3},
		{"current bytes cut", writes("versions/000003.tfstate", "{"), "damaged", 3},
		{"head damaged", writes("head.json", "{"), "put head.json back from a backup", 3},
		{"head lost", removes("head.json"), "put head.json back from a backup", 3},
		{"only bodies left", onlyBodies, "put head.json back from a backup", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			fill(t, path)
			c.damage(t, filepath.Join(path, "s"))
			if said := restart(t, path); !strings.Contains(said, c.says) {
				t.Errorf("repair says %q, want %q", said, c.says)
			}
			if aside, _ := filepath.Glob(filepath.Join(path, "s", "*edited*")); len(aside) > 0 {
				t.Errorf("kept aside %q: damaged bytes are to stay where they are", aside)
			}
			states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
			if got, err := read(states.ReadVersion(t.Context(), "s", c.version)); err == nil || statusOf(err) != 0 {
				t.Errorf("read gives %q, %v, want an error that is no refusal", got, err)
			}
			page, err := states.List(t.Context(), "", 10, nil)
			if err != nil || len(page.States) != 2 {
				t.Errorf("list has %d states, %v; want 2", len(page.States), err)
			}
		})
	}
}

// A digest that is wrong is found before the last byte is given.
func TestBytesThatWereChanged(t *testing.T) {
	path := t.TempDir()
	fill(t, path)
	writes("versions/000003.tfstate", strings.Replace(doc(2, "l"), "[]", "()", 1))(t, filepath.Join(path, "s"))
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	got, err := read(states.Read(t.Context(), "s"))
	if !errors.Is(err, statesrv.ErrDamaged) || !strings.Contains(err.Error(), "state s, version 3") ||
		!strings.Contains(err.Error(), "restore an older version or push the right one") {
		t.Errorf("read gives %q, %v, want ErrDamaged and the way out", got, err)
	}
	if got, err := read(states.ReadVersion(t.Context(), "s", 3)); !errors.Is(err, statesrv.ErrDamaged) {
		t.Errorf("the version gives %q, %v, want ErrDamaged", got, err)
	}
}

// Entries that are gone do not come back by themselves.
func TestEntriesThatAreLost(t *testing.T) {
	path := t.TempDir()
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	for serial := 1; serial <= 34; serial++ {
		if _, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(serial, "l"))}); err != nil {
			t.Fatal(err)
		}
	}
	removes("versions/000001-000032.json")(t, filepath.Join(path, "s"))
	states = statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	if v, err := states.Version(t.Context(), "s", 1); !errors.Is(err, statesrv.ErrDamaged) {
		t.Errorf("version 1 is %v, %v, want ErrDamaged", v, err)
	}
	if got, err := read(states.Read(t.Context(), "s")); err != nil {
		t.Errorf("the current state is %q, %v", got, err)
	}
}

func TestRepairLeavesAStoreInUseAlone(t *testing.T) {
	path := t.TempDir()
	fill(t, path)
	writes("versions/000004.tfstate", "of a write under way")(t, filepath.Join(path, "s"))
	openDir(t, path)
	if said := restart(t, path); !strings.Contains(said, "another process") {
		t.Errorf("repair says %q", said)
	}
	wantFile(t, filepath.Join(path, "s"), "versions/000004.tfstate", "of a write under way")
}

// A file beside the states is no state, so it is no damage of one.
func TestRepairOfALooseFile(t *testing.T) {
	path := t.TempDir()
	fill(t, path)
	writes("README.md", "hello")(t, path)
	if said := restart(t, path); said != "" {
		t.Errorf("start-up says %q, want nothing", said)
	}
}
