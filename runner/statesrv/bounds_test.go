package statesrv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// A write costs the same however long the history is: the head does not grow.
func TestTheHeadIsBounded(t *testing.T) {
	s := memory.New()
	states := statesrv.NewStates(s, statesrv.Rules{})
	for i := range 130 {
		mustWrite(t, states, "s", "", doc(i, "l"))
	}
	rec, err := s.Get(t.Context(), "s/head.json")
	if err != nil {
		t.Fatal(err)
	}
	var head struct{ Recent, Events, Writes []any }
	if err := json.Unmarshal(rec.Data, &head); err != nil {
		t.Fatal(err)
	}
	if len(head.Recent) > 32 || len(head.Events) > 16 || len(head.Writes) > 8 {
		t.Errorf("head has %d entries, %d events, %d IDs", len(head.Recent), len(head.Events), len(head.Writes))
	}
}

// A crash between the page of entries and the head leaves the page: the next
// writer finds its own page there.
func TestAPageThatIsThereAlready(t *testing.T) {
	s := &hooked{Store: memory.New()}
	states := statesrv.NewStates(s, statesrv.Rules{})
	for i := range 32 {
		mustWrite(t, states, "s", "", doc(i, "l"))
	}
	s.swap = func(string, func() (store.Revision, error)) (store.Revision, error) { return "", errors.New("crash") }
	if _, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(32, "l"))}); err == nil {
		t.Fatal("write succeeded")
	}
	if _, err := s.Get(t.Context(), "s/versions/000001-000032.json"); err != nil {
		t.Fatal(err)
	}
	s.swap = nil
	mustWrite(t, states, "s", "", doc(32, "l"))
	wantHistory(t, states, "s", 33)
}

// Events of changes are not lost when the log fails for a while, and each is
// logged once; but no change is made whose event could be lost.
func TestALogThatFails(t *testing.T) {
	errLog := errors.New("log full")
	s := &hooked{Store: memory.New()}
	states := statesrv.NewStates(s, statesrv.Rules{})
	failing := func(key string, do func() (store.Revision, error)) (store.Revision, error) {
		if strings.Contains(key, "events.jsonl") {
			return "", errLog
		}
		return do()
	}
	serial := 0
	write := func() error {
		_, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(serial, "l"))})
		if err == nil {
			serial++
		}
		return err
	}
	for range 4 {
		s.create = failing
		for range 5 {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		s.create = nil
		for range 14 {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.create = failing
	var err error
	for range 20 {
		if err = write(); err != nil {
			break
		}
	}
	if !errors.Is(err, errLog) {
		t.Errorf("with a log that fails for good, writes end with %v, want its error", err)
	}
	s.create = nil
	wantEventOnce(t, states, "s", serial)
}

// wantEventOnce checks that each write up to n has one event, in whatever order.
func wantEventOnce(t *testing.T, states *statesrv.States, name string, n int) {
	t.Helper()
	counts := map[int]int{}
	for after := ""; ; {
		page, err := states.Events(t.Context(), name, after, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range page.Events {
			counts[ev.Version]++
		}
		if len(page.Events) == 0 {
			break
		}
		after = page.Next
	}
	for v := 1; v <= n; v++ {
		// The last ones may still be in the head only, because they are so young.
		if c := counts[v]; c > 1 || c == 0 && v <= n-16 {
			t.Errorf("version %d has %d events, want 1", v, c)
		}
	}
}

// Two writers without a lock: the one that is overtaken while its bytes are being
// stored gets the next number, and its bytes the right name.
func TestAWriterThatIsOvertaken(t *testing.T) {
	shared := memory.New()
	slow := &hooked{Store: shared}
	overtaken := statesrv.NewStates(slow, statesrv.Rules{})
	other := statesrv.NewStates(shared, statesrv.Rules{})
	slow.create = func(_ string, do func() (store.Revision, error)) (store.Revision, error) {
		slow.create = nil
		rev, err := do()
		mustWrite(t, other, "s", "", doc(1, "l"))
		return rev, err
	}
	mustWrite(t, overtaken, "s", "", doc(5, "l"))
	wantHistory(t, other, "s", 2)
	v, err := other.Version(t.Context(), "s", 2)
	if err != nil || v.Body != "000002.tfstate" {
		t.Errorf("version 2 has its bytes in %q, %v", v.Body, err)
	}
	wantBodies(t, shared, "s", 2)
}

// wantBodies checks that no bytes were left behind.
func wantBodies(t *testing.T, s store.Store, name string, n int) {
	t.Helper()
	var bodies []string
	for file, err := range s.List(t.Context(), name+"/versions") {
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, file)
	}
	if len(bodies) != n {
		t.Errorf("bodies are %q, want %d", bodies, n)
	}
}

// A swap that is done after its answer was lost must find its bytes.
func TestAnAnswerThatComesLate(t *testing.T) {
	s := &hooked{Store: memory.New()}
	states := statesrv.NewStates(s, statesrv.Rules{})
	mustWrite(t, states, "s", "", doc(1, "l"))
	var late func() (store.Revision, error)
	s.swap = func(_ string, do func() (store.Revision, error)) (store.Revision, error) {
		late = do
		return "", store.ErrUnknown
	}
	if _, err := states.Write(t.Context(), "s", statesrv.WriteRequest{Body: []byte(doc(2, "l"))}); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("write: %v, want ErrUnknown", err)
	}
	if _, err := late(); err != nil {
		t.Fatal(err)
	}
	if got, err := read(states.Read(t.Context(), "s")); got != doc(2, "l") {
		t.Errorf("state is %q, %v", got, err)
	}
}

// The serial goes on behind the newest version of the same lineage, whatever came after it.
func TestRestoreAfterAnotherState(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	remove := func() {
		if err := states.Delete(t.Context(), "s", statesrv.DeleteRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	for serial := 1; serial <= 5; serial++ {
		mustWrite(t, states, "s", "", doc(serial, "l"))
	}
	remove()
	mustWrite(t, states, "s", "", doc(1, "other"))
	remove()
	if v, err := states.Restore(t.Context(), "s", statesrv.RestoreRequest{Version: 3}); err != nil || v.Serial != 6 {
		t.Errorf("restored with serial %d, %v; want 6", v.Serial, err)
	}
}

func TestRestoreOfTheLargestSerial(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	mustWrite(t, states, "s", "", fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"l"}`, uint64(math.MaxUint64)))
	if _, err := states.Restore(t.Context(), "s", statesrv.RestoreRequest{Version: 1}); statusOf(err) != 409 {
		t.Errorf("restore: %v, want a refusal with 409", err)
	}
}

// A person may copy a state's directory to make another state of it.
func TestACopiedDirectory(t *testing.T) {
	path := t.TempDir()
	states := statesrv.NewStates(openDir(t, path), statesrv.Rules{})
	for i := range 40 {
		mustWrite(t, states, "s", "", doc(i, "l"))
	}
	states.Flush(t.Context()) // nothing is written into the directory any more
	if err := os.CopyFS(filepath.Join(path, "copy"), os.DirFS(filepath.Join(path, "s"))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(path, "s")); err != nil {
		t.Fatal(err)
	}
	wantHistory(t, states, "copy", 40)
	mustWrite(t, states, "copy", "", doc(40, "l"))
	wantHistory(t, states, "copy", 41)
}

// What a client sent must not break a header, nor a terminal.
func TestErrorHeader(t *testing.T) {
	states := statesrv.NewStates(memory.New(), statesrv.Rules{})
	server := httptest.NewServer(statesrv.NewHandler(states, statesrv.HandlerOptions{}))
	defer server.Close()
	mustLock(t, states, "s", `{"ID":"a","Who":"\u001b[31m\r\nX-Evil: é`+strings.Repeat("w", 3000)+`"}`)
	resp, _ := send(t, server.URL+"/states/s", "LOCK", lockB, nil)
	got := resp.Header.Get(statesrv.ErrorHeader)
	if resp.StatusCode != 423 || got == "" || len(got) > 1024 || resp.Header.Get("X-Evil") != "" {
		t.Errorf("%d, error header of %d bytes: %.80q", resp.StatusCode, len(got), got)
	}
	if i := strings.IndexFunc(got, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Errorf("error header has %q in it", got[i:i+1])
	}
}
