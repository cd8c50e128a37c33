package statesrv_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

func onlyBodies(t *testing.T, state string) {
	for _, name := range []string{"head.json", "versions.json", "state.tfstate"} {
		removes(name)(t, state)
	}
}

// A state whose head is gone is neither read nor written, and loses nothing. With
// the head back it is as it was.
func TestHeadLost(t *testing.T) {
	path := t.TempDir()
	fill(t, path)
	state := filepath.Join(path, "s")
	head := readFile(t, state, "head.json")
	removes("head.json")(t, state)
	restart(t, path)
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	if got, err := read(states.Read(t.Context(), "s")); err == nil || statusOf(err) != 0 {
		t.Errorf("read gives %q, %v, want a fault", got, err)
	}
	if _, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(0, "other"))}); err == nil || statusOf(err) != 0 {
		t.Errorf("write gives %v, want a fault", err)
	}
	wantThreeBodies(t, state, "")
	writes("head.json", head)(t, state)
	if found, err := states.Repair(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("with the head back, the start finds %+v, %v", found, err)
	}
	wantThreeBodies(t, state, "")
}

// The advice is to push the newest version, so it is that which the error names.
func TestHeadLostNamesTheNewest(t *testing.T) {
	path := t.TempDir()
	fill(t, path)
	onlyBodies(t, filepath.Join(path, "s"))
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	for range 8 { // whatever comes first
		if _, err := read(states.Read(t.Context(), "s")); err == nil || !strings.Contains(err.Error(), "versions/000003.tfstate") {
			t.Fatalf("read gives %v, want the newest version named", err)
		}
	}
}

// wantThreeBodies checks the bytes of the three versions that fill makes, of which those
// after the first are kept aside under names that end in aside.
func wantThreeBodies(t *testing.T, state, aside string) {
	t.Helper()
	for i := range 3 {
		pattern := fmt.Sprintf("versions/%06d.tfstate", i+1)
		if i > 0 {
			pattern += aside
		}
		found, err := filepath.Glob(filepath.Join(state, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %q, %v; want one file", pattern, found, err)
		}
		wantFile(t, filepath.Dir(found[0]), filepath.Base(found[0]), doc(i, "l"))
	}
}

// An older head that a person has put back costs no newer version its bytes, also
// when there is no versions.json to tell of them.
func TestOlderHeadPutBack(t *testing.T) {
	for name, more := range map[string]func(*testing.T, string){
		"listed": func(*testing.T, string) {}, "list lost": removes("versions.json"),
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			state := filepath.Join(path, "s")
			states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
			mustWrite(t, states, "s", "", doc(0, "l"))
			old := readFile(t, state, "head.json")
			mustWrite(t, states, "s", "", doc(1, "l"))
			mustWrite(t, states, "s", "", doc(2, "l"))
			states.Flush(t.Context())
			rewrites("head.json", old)(t, state)
			more(t, state)

			found, err := states.Repair(t.Context())
			if err != nil || len(found) < 2 || !found[0].Kept || !strings.HasPrefix(found[0].Text, "kept versions/000002.tfstate as ") {
				t.Errorf("repair found %+v, %v", found, err)
			}
			wantThreeBodies(t, state, ".kept-*")
			wantFile(t, state, "state.tfstate", doc(0, "l"))
			wantNumbers(t, state, 1)
			if again, err := states.Repair(t.Context()); err != nil || len(again) > 0 {
				t.Errorf("the second repair found %+v, %v", again, err)
			}
		})
	}
}

// The first write of a state makes its bytes before its head: a crash between them
// leaves no state behind.
func TestFirstWriteInterrupted(t *testing.T) {
	path := t.TempDir()
	state := filepath.Join(path, "s")
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	mustWrite(t, states, "s", "", doc(0, "l"))
	states.Flush(t.Context())
	onlyBodies(t, state)
	found, err := states.Repair(t.Context())
	if err != nil || len(found) == 0 || !strings.HasPrefix(found[0].Text, "removed versions/000001.tfstate") {
		t.Errorf("repair found %+v, %v", found, err)
	}
	mustWrite(t, states, "s", "", doc(0, "l"))
	wantFile(t, state, "versions/000001.tfstate", doc(0, "l"))
}

// A copy to a directory that was interrupted leaves versions without a head. Nobody
// can use such a state, and copying again completes it.
func TestInterruptedCopyIsNoState(t *testing.T) {
	from := statesrv.NewStates(memory.New(), statesrv.Rules{})
	for i := range 3 {
		mustWrite(t, from, "s", "", doc(i, "l"))
	}
	disk := openDir(t, t.TempDir())
	broken := &failing{Store: disk}
	broken.left.Store(2)
	if err := statesrv.Copy(t.Context(), from, statesrv.NewStates(broken, statesrv.Rules{}), statesrv.CopyOptions{}); err == nil {
		t.Fatal("the copy was not interrupted")
	}
	to := statesrv.NewStates(disk, statesrv.Rules{})
	if _, err := to.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(9, "m"))}); err == nil {
		t.Error("half a copy was written to")
	}
	if err := statesrv.Copy(t.Context(), from, to, statesrv.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := read(to.Read(t.Context(), "s")); got != doc(2, "l") || err != nil {
		t.Errorf("the copy is %q, %v", got, err)
	}
}

// A lost head is found on a store without files for people too, and answered as what
// does not pass.
func TestHeadLostOnAnyStore(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			open := engine(t)
			st := open()
			states := statesrv.NewStates(st, statesrv.Rules{})
			for i := range 2 {
				mustWrite(t, states, "s", "", doc(i, "l"))
			}
			if err := st.Remove(t.Context(), "s/head.json"); err != nil {
				t.Fatal(err)
			}
			headIsLost(t, states)
		})
	}
}

func headIsLost(t *testing.T, states *statesrv.States) {
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
	defer server.Close()
	for _, request := range []step{
		{method: "GET", path: "/states/s"},
		{method: "LOCK", path: "/states/s", body: lockA},
		{method: "POST", path: "/states/s", body: doc(0, "other")},
	} {
		request.status, request.fault = 500, "put head.json back from a backup"
		request.run(t, 0, server)
	}
	step{method: "GET", path: "/states/t", status: 404}.run(t, 1, server)
}

// When the directory was removed or replaced under a server, no state is known to be
// absent: a client that believed so would make everything a second time.
func TestStoreRemoved(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"removed": os.RemoveAll,
		"moved":   func(path string) error { return os.Rename(path, path+".moved") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".moved"), os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, ".statesrv"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
			server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
			defer server.Close()
			step{method: "GET", path: "/readyz", status: 200}.run(t, 1, server)
			step{method: "LOCK", path: "/states/locked", body: lockA, status: 200}.run(t, 1, server)
			step{method: "GET", path: "/states/locked", status: 404}.run(t, 1, server)
			states.Flush(t.Context()) // or a file for people is made while the directory is removed
			if err := remove(path); err != nil {
				t.Fatal(err)
			}
			step{method: "GET", path: "/states/locked", status: 503}.run(t, 4, server)
			step{method: "POST", path: "/states/locked?ID=a", body: doc(1, "l"), status: 503}.run(t, 5, server)
			step{method: "GET", path: "/readyz", status: 503}.run(t, 2, server)
			step{method: "GET", path: "/states/s", status: 503}.run(t, 3, server)
		})
	}
}
