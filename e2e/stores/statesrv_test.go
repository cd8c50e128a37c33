package stores

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

// startServer starts a state server on a store, and returns its URL.
func startServer(t *testing.T, store string, env ...string) string {
	t.Helper()
	p, port := serve(t, store, env...)
	var url string
	p.waitFor(t, func() error {
		text, err := os.ReadFile(port)
		url = "http://127.0.0.1:" + strings.TrimSpace(string(text))
		return err
	})
	t.Cleanup(func() {
		if text := p.output(); strings.Contains(text, secretKey) || strings.Contains(text, "level=ERROR") {
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

// startServers starts two state servers on one bucket, each with a gateway of its
// own in front of the same directory.
func startServers(t *testing.T) []string {
	t.Helper()
	gateways := startGateways(t, 2)
	const store = "s3://" + bucket + "/two-servers"
	return []string{
		startServer(t, store, "STATESRV_S3_ENDPOINTS="+gateways[0]+","+gateways[1]),
		startServer(t, store, "STATESRV_S3_ENDPOINTS="+gateways[1]+","+gateways[0]),
	}
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
