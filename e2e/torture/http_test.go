package torture

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

// httpStore is a state on a statesrv.
type httpStore struct {
	name   string
	remote *client.State
}

// startStatesrv starts a state server as a team would run one, and returns its URL.
func startStatesrv(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	port := filepath.Join(dir, "port")
	cmd := exec.Command(tools.Build(t, "./cmd/statesrv"), "serve", "--data", filepath.Join(dir, "states"), "--require-lock", "--port", "0", "--port-file", port)
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var number []byte
	if !await(time.Minute, func() bool { number, err = os.ReadFile(port); return err == nil && len(number) > 0 }) {
		t.Fatalf("statesrv is not ready: %v", err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(string(number))
}

func openHTTP(t *testing.T, server, name string) *httpStore {
	t.Helper()
	s, err := client.NewState(server+"/states/"+name, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &httpStore{name: name, remote: s}
}

func (s *httpStore) settings(url string) (flags []string) {
	for _, key := range []string{"address", "lock_address", "unlock_address"} {
		flags = append(flags, "--backend-config", key+"="+url+"/states/"+s.name)
	}
	return flags
}

func (s *httpStore) request(m moment) match {
	switch m {
	case atInit:
		return func(r *http.Request, _ []byte) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+s.name)
		}
	case atStateWrite:
		return method(http.MethodPost)
	}
	return method("UNLOCK")
}

func (s *httpStore) state(t *testing.T) []byte {
	t.Helper()
	content, err := s.remote.Pull(t.Context(), 0)
	var refusal *statesrv.Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	document, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// rescued: there are no Secrets to rescue a state into.
func (s *httpStore) rescued(t *testing.T, where string) []byte {
	t.Helper()
	t.Fatalf("a state is said to be in %s", where)
	return nil
}

func (s *httpStore) held(t *testing.T) (l lock.Lock) {
	t.Helper()
	status, err := s.remote.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Lock == nil {
		return l
	}
	record, err := json.Marshal(status.Lock.Info)
	if err != nil {
		t.Fatal(err)
	}
	l.Holder = status.Lock.Info.ID
	l.Info, l.InfoErr = lock.ParseInfo(string(record))
	return l
}

func (s *httpStore) hold(t *testing.T, id string) {
	t.Helper()
	var info statesrv.LockInfo
	if err := json.Unmarshal([]byte(lockInfo(id)), &info); err != nil {
		t.Fatal(err)
	}
	if err := s.remote.Lock(t.Context(), info); err != nil {
		t.Fatal(err)
	}
}
