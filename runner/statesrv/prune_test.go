package statesrv_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// pruned returns the numbers of the versions that are marked so, and checks that
// exactly their bytes are gone.
func pruned(t *testing.T, states *statesrv.States, name string) []int {
	t.Helper()
	page, err := states.Versions(t.Context(), name, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, v := range slices.Backward(page.Versions) {
		want := 0
		if v.Pruned {
			numbers = append(numbers, v.Number)
			want = http.StatusGone
		}
		if _, err := read(states.ReadVersion(t.Context(), name, v.Number)); statusOf(err) != want {
			t.Errorf("version %d, pruned %v: %v", v.Number, v.Pruned, err)
		}
	}
	return numbers
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func TestPrune(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		what     string
		versions int // one a day, the newest now
		rules    statesrv.PruneRules
		want     int
	}{
		{"no rule", 5, statesrv.PruneRules{}, 0},
		{"few versions", 5, statesrv.PruneRules{MaxVersions: 5}, 0},
		{"many versions", 5, statesrv.PruneRules{MaxVersions: 2}, 3},
		{"the newest stays", 5, statesrv.PruneRules{MaxVersions: 1}, 4},
		{"over pages of entries", 70, statesrv.PruneRules{MaxVersions: 3}, 67},
		{"none is old", 5, statesrv.PruneRules{MaxAge: 10 * day}, 0},
		// The newest but two was replaced a day ago: by the age of its successor it is
		// not old, although it was written two days ago.
		{"age counts from the successor", 5, statesrv.PruneRules{MaxAge: 2*day - time.Hour}, 2},
		{"all are old", 5, statesrv.PruneRules{MaxAge: time.Nanosecond}, 3},
		{"old, over pages", 70, statesrv.PruneRules{MaxAge: 40*day - time.Hour}, 29},
		{"the stricter rule", 5, statesrv.PruneRules{MaxVersions: 4, MaxAge: 2*day - time.Hour}, 2},
		{"the other one is stricter", 5, statesrv.PruneRules{MaxVersions: 2, MaxAge: 10 * day}, 3},
		{"nothing at all", 0, statesrv.PruneRules{MaxVersions: 1, MaxAge: 1}, 0},
		{"one version", 1, statesrv.PruneRules{MaxVersions: 1, MaxAge: 1}, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			now := newClock()
			states := statesrv.NewStates(memory.New(), statesrv.Rules{Now: now.Now})
			for i := range c.versions {
				if i > 0 {
					now.add(day)
				}
				mustWrite(t, states, "s", "", doc(i, "l"))
			}
			n, err := states.PruneAll(t.Context(), c.rules)
			if err != nil || n != c.want {
				t.Errorf("pruned %d versions, %v; want %d", n, err, c.want)
			}
			if got := pruned(t, states, "s"); !slices.Equal(got, upTo(c.want)) {
				t.Errorf("pruned are %v, want 1 to %d", got, c.want)
			}
			if n, err := states.PruneAll(t.Context(), c.rules); n != 0 || err != nil {
				t.Errorf("pruned %d more, %v", n, err)
			}
		})
	}
}

// A deleted state keeps its newest version, which can be restored; a pruned one
// cannot, and says so.
func TestPruneAndRestore(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	for i := range 3 {
		mustWrite(t, states, "s", "", doc(i, "l"))
	}
	if err := states.Delete(t.Context(), "s", statesrv.DeleteRequest{}); err != nil {
		t.Fatal(err)
	}
	if n, err := states.Prune(t.Context(), "s", statesrv.PruneRules{MaxVersions: 1}); n != 2 || err != nil {
		t.Errorf("pruned %d, %v; want 2", n, err)
	}
	if _, err := states.Restore(t.Context(), "s", statesrv.RestoreRequest{Version: 1}); statusOf(err) != http.StatusGone {
		t.Errorf("restore of a pruned version: %v, want 410", err)
	}
	if _, err := states.Restore(t.Context(), "s", statesrv.RestoreRequest{Version: 3}); err != nil {
		t.Error(err)
	}
	page, err := states.LastEvents(t.Context(), "s", 3)
	if err != nil || len(page.Events) != 3 || page.Events[0].Action != statesrv.ActionPrune || page.Events[0].Note != "versions 1 to 2" {
		t.Errorf("events are %+v, %v; want the pruning of versions 1 to 2 first", page.Events, err)
	}
}

func TestPrunedOverHTTP(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
	defer server.Close()
	for i := range 3 {
		mustWrite(t, states, "s", "", doc(i, "l"))
	}
	if _, err := states.Prune(t.Context(), "s", statesrv.PruneRules{MaxVersions: 1}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/versions/1": 410, "/versions/2": 410, "/versions/3": 200, "/versions/4": 404, "": 200} {
		resp, _ := send(t, server.URL+"/states/s"+path, "GET", "", nil)
		if resp.StatusCode != want || want == 410 && !strings.Contains(resp.Header.Get(statesrv.ErrorHeader), "pruned") {
			t.Errorf("GET %s: %s, %q; want %d", path, resp.Status, resp.Header.Get(statesrv.ErrorHeader), want)
		}
	}
}

// stuck is a store that removes no more than a few records.
type stuck struct {
	store.Store
	left int
}

var errStuck = errors.New("stuck")

func (s *stuck) Remove(ctx context.Context, key string) error {
	if s.left--; s.left < 0 {
		return errStuck
	}
	return s.Store.Remove(ctx, key)
}

// A pruning that is interrupted anywhere is finished by the next one, also by one
// that has no rule for it any more.
func TestPruneIsFinishedLater(t *testing.T) {
	for left := range 4 {
		s := &stuck{memory.New(), 1000}
		states := statesrv.NewStates(s, statesrv.Rules{})
		for i := range 5 {
			mustWrite(t, states, "s", "", doc(i, "l"))
		}
		s.left = left
		if _, err := states.Prune(t.Context(), "s", statesrv.PruneRules{MaxVersions: 1}); !errors.Is(err, errStuck) {
			t.Errorf("%d removed: %v, want %v", left, err, errStuck)
		}
		if got := pruned(t, states, "s"); !slices.Equal(got, upTo(4)) {
			t.Errorf("%d removed: pruned are %v, want 1 to 4", left, got)
		}
		s.left = 1000
		if _, err := states.PruneAll(t.Context(), statesrv.PruneRules{}); err != nil {
			t.Error(err)
		}
		var bodies []string
		for name, err := range s.List(t.Context(), "s/versions") {
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, name)
		}
		if want := []string{"000005.tfstate"}; !slices.Equal(bodies, want) {
			t.Errorf("%d removed: bytes left are %v, want %v", left, bodies, want)
		}
	}
}

// Two servers prune while another writes: nothing newer is lost.
func TestPruneRace(t *testing.T) {
	onEngines(t, func(t *testing.T, states [2]*statesrv.States) {
		var group sync.WaitGroup
		const last = 40
		done := make(chan struct{})
		for _, s := range states {
			group.Go(func() {
				for {
					if _, err := s.PruneAll(t.Context(), statesrv.PruneRules{MaxVersions: 5}); err != nil {
						t.Error(err)
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		for i := range last {
			mustWrite(t, states[i%2], "s", "", doc(i, "l"))
		}
		close(done)
		group.Wait()
		if _, err := states[0].PruneAll(t.Context(), statesrv.PruneRules{MaxVersions: 5}); err != nil {
			t.Error(err)
		}
		if got := pruned(t, states[1], "s"); !slices.Equal(got, upTo(last-5)) {
			t.Errorf("pruned are %v, want 1 to %d", got, last-5)
		}
		page, err := states[1].Versions(t.Context(), "s", 0, 100)
		if err != nil || len(page.Versions) != last {
			t.Errorf("%d entries are left, %v; want all %d", len(page.Versions), err, last)
		}
	})
}

// On disk the files are gone, versions.json tells of it, and a start finds no
// damage, nor bytes that came back from a backup.
func TestPruneOnDisk(t *testing.T) {
	path := t.TempDir()
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	for i := range 4 {
		mustWrite(t, states, "s", "", doc(i, "l"))
	}
	if _, err := states.PruneAll(t.Context(), statesrv.PruneRules{MaxVersions: 2}); err != nil {
		t.Fatal(err)
	}
	states.Flush(t.Context())
	dir := filepath.Join(path, "s")
	wantNoFile(t, dir, "versions/000002.tfstate")
	wantFile(t, dir, "versions/000003.tfstate", doc(2, "l"))
	wantFile(t, dir, "state.tfstate", doc(3, "l"))
	wantNumbers(t, dir, 1, 2, 3, 4)
	if got := strings.Count(readFile(t, dir, "versions.json"), `"pruned":true`); got != 2 {
		t.Errorf("versions.json marks %d versions as pruned, want 2", got)
	}
	if found, err := states.Repair(t.Context()); len(found) != 0 || err != nil {
		t.Errorf("repair found %+v, %v", found, err)
	}
	writes("versions/000001.tfstate", doc(0, "l"))(t, dir)
	found, err := states.Repair(t.Context())
	if want := "[{s false false removed versions/000001.tfstate: bytes of a pruned version}]"; fmt.Sprint(found) != want || err != nil {
		t.Errorf("repair found %v, %v; want %s", found, err, want)
	}
	mustWrite(t, states, "s", "", doc(4, "l"))
	states.Flush(t.Context())
	wantNumbers(t, dir, 1, 2, 3, 4, 5)
}
