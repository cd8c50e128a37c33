package statesrv_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/dir"
)

// served is a server on a directory whose disk can be made to fail.
type served struct {
	t    *testing.T
	path string
	url  string
	// step is called for each step of a write to the disk.
	step  func(step string) error
	close func()
}

func serveDir(t *testing.T, path string) *served {
	t.Helper()
	s := &served{t: t, path: path}
	store, err := dir.Open(t.Context(), path, dir.Options{Fault: func(step, _ string) error {
		if s.step != nil {
			return s.step(step)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(statesrv.NewHandler(statesrv.NewStates(store, statesrv.Rules{}), statesrv.HandlerOptions{}))
	s.url = server.URL + "/states/s"
	s.close = func() {
		server.Close()
		store.Close()
	}
	t.Cleanup(s.close)
	return s
}

func (s *served) ask(method, path, body string) (status int, text string) {
	s.t.Helper()
	resp, got := send(s.t, s.url+path, method, body, nil)
	return resp.StatusCode, got
}

func (s *served) must(method, path, body string) {
	s.t.Helper()
	if status, text := s.ask(method, path, body); status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// change is a request that changes a state which has three versions.
type change struct {
	name, method, path, body string
	prepare                  func(s *served)
	versions                 int    // afterwards
	state                    string // afterwards, "" for none
}

func changes() []change {
	locked := func(s *served) { s.must("LOCK", "", lockA) }
	return []change{
		{"lock", "LOCK", "", lockA, nil, 3, doc(3, "l")},
		{"unlock", "UNLOCK", "", lockA, locked, 3, doc(3, "l")},
		{"write", "POST", "", doc(4, "l"), nil, 4, doc(4, "l")},
		{"write under a lock", "POST", "?ID=a", doc(4, "l"), locked, 4, doc(4, "l")},
		{"delete", "DELETE", "", "", nil, 3, ""},
		{"restore", "POST", "/restore?version=1", "", nil, 4, strings.Replace(doc(1, "l"), `"serial":1`, `"serial":4`, 1)},
	}
}

func (c change) start(t *testing.T) *served {
	t.Helper()
	s := serveDir(t, t.TempDir())
	for serial := range 3 {
		s.must("POST", "", doc(serial+1, "l"))
	}
	if c.prepare != nil {
		c.prepare(s)
	}
	return s
}

// steps counts the steps on the disk that the change takes.
func (c change) steps(t *testing.T) (n int) {
	s := c.start(t)
	s.step = func(string) error { n++; return nil }
	s.must(c.method, c.path, c.body)
	return n
}

// TestEveryStepFails lets each step of each change on the disk fail, once. The
// errors are made up: no real disk fails on demand at a certain step. The client is
// told, the old state is intact, the same request succeeds later, and the next start
// finds nothing that a person would have to repair.
func TestEveryStepFails(t *testing.T) {
	for _, c := range changes() {
		n := c.steps(t)
		if n < 2 {
			t.Errorf("%s takes %d steps, want at least those of one record", c.name, n)
		}
		for at := range n {
			t.Run(fmt.Sprintf("%s/%d", c.name, at), func(t *testing.T) {
				t.Parallel()
				c.failAt(t, at)
			})
		}
	}
}

func (c change) failAt(t *testing.T, at int) {
	s := c.start(t)
	var n int
	var failed string
	s.step = func(step string) error {
		if n++; n-1 == at {
			failed = step
			return syscall.EIO
		}
		return nil
	}
	status, text := s.ask(c.method, c.path, c.body)
	if status != http.StatusServiceUnavailable || !strings.Contains(text, syscall.EIO.Error()) {
		t.Errorf("with a failing %s: %d %q, want 503 and the disk's error", failed, status, text)
	}
	if status, got := s.ask("GET", "", ""); status != http.StatusOK || got != doc(3, "l") {
		t.Errorf("after a failing %s the state is %d %q, want the old one", failed, status, got)
	}
	s.close()

	if said := restart(t, s.path); strings.Contains(said, "missing") || strings.Contains(said, "damaged") {
		t.Errorf("after a failing %s the next start says %s", failed, said)
	}
	again := serveDir(t, s.path)
	again.must(c.method, c.path, c.body)
	wantStatus := http.StatusOK
	if c.state == "" {
		wantStatus = http.StatusNotFound
	}
	if status, got := again.ask("GET", "", ""); status != wantStatus || c.state != "" && got != c.state {
		t.Errorf("after a failing %s and a second try: %d %q, want %q", failed, status, got, c.state)
	}
	if c.state == "" {
		again.must("POST", "/restore?version=3", "") // the history is there
		c.versions++
	}
	again.close()
	wantHistory(t, statesrv.NewStates(openDir(t, s.path), statesrv.Rules{}), "s", c.versions)
}

// TestFullDisk fills a real file system, of two MiB. Nothing that was acknowledged is
// lost, and with room again the server goes on.
func TestFullDisk(t *testing.T) {
	path := smallDisk(t)
	s := serveDir(t, filepath.Join(path, "data"))
	s.must("LOCK", "", lockA)
	state := func(serial int) string {
		return strings.Replace(doc(serial, "l"), "[]", `["`+strings.Repeat("x", 100<<10)+`"]`, 1)
	}
	serial, text := 1, ""
	for status := http.StatusOK; ; serial++ {
		if status, text = s.ask("POST", "?ID=a", state(serial)); status != http.StatusOK {
			break
		}
	}
	if serial < 5 || !strings.Contains(text, syscall.ENOSPC.Error()) {
		t.Fatalf("write %d is answered %q, want that there is no space", serial, text)
	}
	if status, got := s.ask("GET", "", ""); status != http.StatusOK || got != state(serial-1) {
		t.Errorf("on a full disk the state is %d, %d bytes; want the last one that was acknowledged", status, len(got))
	}
	fillDisk(t, path)
	if status, text := s.ask("POST", "?ID=a", state(serial)); status != http.StatusServiceUnavailable {
		t.Errorf("a write without any room: %d %s, want 503", status, text)
	}
	// It overwrites the spare, so it needs no room.
	if status, text := s.ask("UNLOCK", "", lockA); status != http.StatusOK {
		t.Errorf("an unlock without any room: %d %s, want 200", status, text)
	}
	if err := os.Remove(filepath.Join(path, "filler")); err != nil {
		t.Fatal(err)
	}
	s.must("POST", "", strings.Replace(state(serial), "xxx", "", 30_000)) // there is room for a smaller one
	s.close()
	restart(t, filepath.Join(path, "data"))
	if said := restart(t, filepath.Join(path, "data")); said != "" {
		t.Errorf("the second start says %s", said)
	}
	wantHistory(t, statesrv.NewStates(openDir(t, filepath.Join(path, "data")), statesrv.Rules{}), "s", serial)
}

// TestFullDiskAfterTheFirstLock has no room for anything since the first lock of a state, which had no record before.
func TestFullDiskAfterTheFirstLock(t *testing.T) {
	path := smallDisk(t)
	s := serveDir(t, filepath.Join(path, "data"))
	s.must("LOCK", "", lockA)
	fillDisk(t, path)
	if status, text := s.ask("UNLOCK", "", lockA); status != http.StatusOK {
		t.Errorf("an unlock without any room: %d %s, want 200", status, text)
	}
	if status, text := s.ask("LOCK", "", lockA); status != http.StatusOK {
		t.Errorf("another lock without any room: %d %s, want 200", status, text)
	}
	s.must("UNLOCK", "", lockA)
}

// smallDisk is a real file system of two MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Fatalf("mount a small file system (the tests run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return path
}

// fillDisk leaves no room for a single byte.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(filepath.Join(path, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A disk that fails may not even let the old head be put back. The client is told of the
// failure, and whatever the head says then, the bytes that it names are there.
func TestPutBackFails(t *testing.T) {
	for _, c := range append(changes(), change{name: "first write", method: "POST", body: doc(1, "l")}) {
		t.Run(c.name, func(t *testing.T) {
			s := serveDir(t, t.TempDir())
			if c.name != "first write" {
				s = c.start(t)
			}
			headMoved := false
			s.step = func(step string) error {
				headMoved = headMoved || step == "exchange" || step == "link"
				if headMoved && (step == "fsync directory" || step == "put back") {
					return syscall.EIO
				}
				return nil
			}
			if status, text := s.ask(c.method, c.path, c.body); status != http.StatusServiceUnavailable {
				t.Errorf("%d %q, want 503", status, text)
			}
			s.step = nil
			if status, text := s.ask("GET", "", ""); status != http.StatusOK && status != http.StatusNotFound {
				t.Errorf("afterwards the state is %d %s", status, text)
			}
			s.close()
			if said := restart(t, s.path); strings.Contains(said, "missing") || strings.Contains(said, "damaged") {
				t.Errorf("the next start says %s", said)
			}
		})
	}
}
