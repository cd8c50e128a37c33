package statesrv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// snapshot is all that can be read of a state, except what belongs to one store.
type snapshot struct {
	Status   statesrv.Status
	Versions []statesrv.Version
	Bodies   map[int]string
	Events   []statesrv.Event
}

func snapshotOf(t *testing.T, states *statesrv.States, name string) snapshot {
	t.Helper()
	ctx := t.Context()
	st, err := states.Status(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := states.Versions(ctx, name, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	events, err := states.Events(ctx, name, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	s := snapshot{st, versions.Versions, map[int]string{}, events.Events}
	for _, v := range s.Versions {
		if s.Bodies[v.Number], err = read(states.ReadVersion(ctx, name, v.Number)); err != nil && statusOf(err) != http.StatusGone {
			t.Errorf("%s, version %d: %v", name, v.Number, err)
		}
	}
	return s
}

// furnish makes states with all that there may be.
func furnish(t *testing.T, states *statesrv.States) (names []string) {
	t.Helper()
	for i := range 70 {
		mustWrite(t, states, "long/history", "", doc(i, "l"))
	}
	if _, err := states.Prune(t.Context(), "long/history", statesrv.PruneRules{MaxVersions: 40}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		mustWrite(t, states, "deleted", "", doc(i, "l"))
	}
	if err := states.Delete(t.Context(), "deleted", statesrv.DeleteRequest{}); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, states, "restored", "", doc(1, "l"))
	mustWrite(t, states, "restored", "", doc(2, "l"))
	if _, err := states.Restore(t.Context(), "restored", statesrv.RestoreRequest{Version: 1, Who: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := states.Write(t.Context(), "restored", statesrv.WriteRequest{Body: []byte(doc(1, "m"))}); statusOf(err) != http.StatusConflict {
		t.Fatalf("a write of another lineage: %v", err)
	}
	mustLock(t, states, "never-written", lockA)
	if _, err := states.Unlock(t.Context(), "never-written", statesrv.UnlockRequest{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	return []string{"deleted", "long/history", "never-written", "restored"}
}

func TestCopy(t *testing.T) {
	for name, engines := range map[string][2]store.Store{
		"memory to directory": {memory.New(), openDir(t, t.TempDir())},
		"directory to memory": {openDir(t, t.TempDir()), memory.New()},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := statesrv.NewStates(engines[0], statesrv.Rules{}), statesrv.NewStates(engines[1], statesrv.Rules{})
			names := furnish(t, from)
			told := map[string]statesrv.CopiedState{}
			tell := statesrv.CopyOptions{Tell: func(c statesrv.CopiedState) { told[c.Name] = c }}
			if err := statesrv.Copy(t.Context(), from, to, tell); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if diff := cmp.Diff(snapshotOf(t, from, name), snapshotOf(t, to, name), cmp.AllowUnexported(statesrv.LockInfo{})); diff != "" {
					t.Errorf("%s (-source +copy):\n%s", name, diff)
				}
			}
			want := statesrv.CopiedState{Name: "long/history", Versions: 70, Pruned: 30, Sent: 40, Events: 71}
			if !cmp.Equal(told["long/history"], want) || len(told) != len(names) {
				t.Errorf("told of %+v, want %+v", told, want)
			}
			// Again it sends nothing, and the copy is one that can be worked on.
			if err := statesrv.Copy(t.Context(), from, to, tell); err != nil {
				t.Error(err)
			}
			want.Sent, want.Already = 0, true
			if !cmp.Equal(told["long/history"], want) {
				t.Errorf("told of %+v, want %+v", told["long/history"], want)
			}
			mustWrite(t, to, "long/history", "", doc(70, "l"))
			if n, err := to.Prune(t.Context(), "long/history", statesrv.PruneRules{MaxVersions: 1}); n != 40 || err != nil {
				t.Errorf("pruned %d versions of the copy, %v; want 40", n, err)
			}
			if found, err := to.Repair(t.Context()); len(found) > 0 || err != nil {
				t.Errorf("repair found %+v, %v", found, err)
			}
		})
	}
}

func wantCopyRefused(t *testing.T, from, to *statesrv.States, opts statesrv.CopyOptions, want string) {
	t.Helper()
	err := statesrv.Copy(t.Context(), from, to, opts)
	if statusOf(err) != http.StatusConflict || !strings.Contains(err.Error(), want) {
		t.Errorf("copy: %v; want a refusal with %q", err, want)
	}
}

func TestCopyRefuses(t *testing.T) {
	states := func() *statesrv.States { return statesrv.NewStates(memory.New(), statesrv.Rules{}) }
	from, to := states(), states()
	mustWrite(t, from, "s", "", doc(1, "l"))

	mustWrite(t, to, "other", "", doc(1, "l"))
	wantCopyRefused(t, from, to, statesrv.CopyOptions{}, "other that the source has not")

	to = states()
	mustWrite(t, to, "s", "", doc(1, "l")) // the same bytes, but not the same history
	wantCopyRefused(t, from, to, statesrv.CopyOptions{}, "another state s: 1 versions at both places, but not the same ones")

	to = states()
	mustLock(t, from, "s", lockA)
	wantCopyRefused(t, from, to, statesrv.CopyOptions{}, "ann@one")
	if page, err := to.List(t.Context(), "", 10, nil); len(page.States) != 0 || err != nil {
		t.Errorf("a refused copy left %+v, %v", page.States, err)
	}
	if err := statesrv.Copy(t.Context(), from, to, statesrv.CopyOptions{Locked: true}); err != nil {
		t.Error(err)
	}
	if _, err := from.Unlock(t.Context(), "s", statesrv.UnlockRequest{Body: []byte(lockA)}); err != nil {
		t.Fatal(err)
	}
	wantCopyRefused(t, from, to, statesrv.CopyOptions{}, "the same 1 versions, but its lock there is lock \"a\", held by \"ann@one\"")
	mustWrite(t, to, "s", "a", doc(2, "l")) // by the holder of the lock
	wantCopyRefused(t, from, to, statesrv.CopyOptions{Locked: true}, "2 versions there, 1 here")
}

// A source that is written to meanwhile is noticed.
func TestCopyWhileWritten(t *testing.T) {
	from := statesrv.NewStates(memory.New(), statesrv.Rules{})
	to := statesrv.NewStates(memory.New(), statesrv.Rules{})
	mustWrite(t, from, "s", "", doc(1, "l"))
	wantCopyRefused(t, from, to, statesrv.CopyOptions{
		Tell: func(statesrv.CopiedState) { mustWrite(t, from, "s", "", doc(2, "l")) },
	}, "written while they were copied: s;")
	to = statesrv.NewStates(memory.New(), statesrv.Rules{})
	wantCopyRefused(t, from, to, statesrv.CopyOptions{
		Tell: func(statesrv.CopiedState) { mustWrite(t, from, "new", "", doc(1, "l")) },
	}, "written while they were copied: new;")
}

// failing is a store that fails after a number of writes.
type failing struct {
	store.Store
	left atomic.Int64
}

func (f *failing) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if f.left.Add(-1) < 0 {
		return "", errors.New("full")
	}
	return f.Store.Create(ctx, key, data)
}

// A copy that ends anywhere shows no half of a state, and is completed by the next.
func TestCopyIsResumed(t *testing.T) {
	from := statesrv.NewStates(memory.New(), statesrv.Rules{})
	names := furnish(t, from)
	target := memory.New()
	runs := 0
	for ; ; runs++ {
		f := &failing{Store: target}
		f.left.Store(10)
		to := statesrv.NewStates(f, statesrv.Rules{})
		err := statesrv.Copy(t.Context(), from, to, statesrv.CopyOptions{})
		for _, name := range names {
			st, err2 := to.Status(t.Context(), name)
			if err != nil && errors.Is(err2, statesrv.ErrDamaged) {
				continue // it has no head yet
			}
			if err2 != nil || st.Versions > 0 {
				if diff := cmp.Diff(snapshotOf(t, from, name), snapshotOf(t, to, name)); diff != "" {
					t.Fatalf("%s after run %d (-source +copy):\n%s", name, runs, diff)
				}
			}
		}
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "full") || runs > 100 {
			t.Fatal(err)
		}
	}
	if runs < 5 {
		t.Errorf("it took %d interrupted runs: too few to show anything", runs)
	}
}

// Bytes that are damaged, here or there, end the copy.
func TestCopyVerifies(t *testing.T) {
	for what, damaged := range map[string]int{"source": 0, "target": 1} {
		stores := [2]*memory.Store{memory.New(), memory.New()}
		from, to := statesrv.NewStates(stores[0], statesrv.Rules{}), statesrv.NewStates(stores[1], statesrv.Rules{})
		mustWrite(t, from, "s", "", doc(1, "l"))
		const key = "s/versions/000001.tfstate"
		bad := stores[damaged]
		if err := bad.Remove(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if _, err := bad.Create(t.Context(), key, []byte(doc(2, "l"))); err != nil {
			t.Fatal(err)
		}
		if err := statesrv.Copy(t.Context(), from, to, statesrv.CopyOptions{}); !errors.Is(err, statesrv.ErrDamaged) {
			t.Errorf("damaged at the %s: %v, want %v", what, err, statesrv.ErrDamaged)
		}
		if st, err := to.Status(t.Context(), "s"); err != nil || st.Versions != 0 {
			t.Errorf("damaged at the %s: the state is there: %+v, %v", what, st, err)
		}
	}
}

// careless stores bytes that are not those that it was given, and says nothing.
type careless struct{ store.Store }

func (c careless) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if strings.HasSuffix(key, ".tfstate") {
		data = bytes.ToUpper(data)
	}
	return c.Store.Create(ctx, key, data)
}

// Bytes that are damaged on their way show no state.
func TestCopyReadsBack(t *testing.T) {
	from, to := statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.NewStates(careless{memory.New()}, statesrv.Rules{})
	mustWrite(t, from, "s", "", doc(1, "l"))
	if err := statesrv.Copy(t.Context(), from, to, statesrv.CopyOptions{}); !errors.Is(err, statesrv.ErrDamaged) {
		t.Errorf("copy: %v, want %v", err, statesrv.ErrDamaged)
	}
	if st, err := to.Status(t.Context(), "s"); err != nil || st.Versions != 0 {
		t.Errorf("the state is there: %+v, %v", st, err)
	}
}

// Many states at once.
func TestCopyMany(t *testing.T) {
	from, to := statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.NewStates(memory.New(), statesrv.Rules{})
	want := map[string]bool{}
	for i := range 100 {
		name := fmt.Sprintf("team-%d/s", i)
		mustWrite(t, from, name, "", doc(i, "l"))
		want[name] = true
	}
	got := map[string]bool{}
	if err := statesrv.Copy(t.Context(), from, to, statesrv.CopyOptions{Tell: func(c statesrv.CopiedState) { got[c.Name] = true }}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("copied %v", slices.Sorted(maps.Keys(got)))
	}
	if err := statesrv.Copy(t.Context(), statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.NewStates(memory.New(), statesrv.Rules{}), statesrv.CopyOptions{}); err != nil {
		t.Errorf("copy of nothing: %v", err)
	}
}
