package stores

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/s3test"
	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

// startServer starts a state server on a store, and returns its URL.
func startServer(t *testing.T, store string, env ...string) string {
	t.Helper()
	p, port := serve(t, store, env...)
	url := p.url(t, port)
	t.Cleanup(func() {
		if text := p.Output(); strings.Contains(text, s3test.SecretKey) || strings.Contains(text, "level=ERROR") {
			t.Errorf("the server's log has a secret or a fault in it:\n%s", text)
		}
	})
	return url
}

func serve(t *testing.T, store string, env ...string) (p *process, portFile string) {
	t.Helper()
	portFile = filepath.Join(t.TempDir(), "port")
	p = spawn(t, append(credentials, env...), tools.Build(t, "./cmd/statesrv"),
		"serve", "--store", store, "--port", "0", "--port-file", portFile)
	return p, portFile
}

// at returns a client of one state on one server.
func at(t *testing.T, server, name string) *client.State {
	t.Helper()
	s, err := client.NewState(server+"/states/"+strings.ReplaceAll(name, "/", "%2F"), client.Options{HTTP: httpClient})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// url returns where a server listens, once it does.
func (p *process) url(t *testing.T, portFile string) (url string) {
	t.Helper()
	p.waitFor(t, func() error {
		text, err := os.ReadFile(portFile)
		url = "http://127.0.0.1:" + strings.TrimSpace(string(text))
		return err
	})
	return url
}
