package stores

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/pki"
	"github.com/captf/captf-runner/internal/tools"
)

// secureServer is a process with TLS, users and client certificates.
type secureServer struct {
	url    string
	ca     *pki.Authority
	client *http.Client // that trusts the server
}

// startSecure starts one on a memory store. Its users have the password pw: ann may do
// everything, bob touches team states only, and eye reads. build comes with a
// certificate.
func startSecure(t *testing.T, args ...string) *secureServer {
	t.Helper()
	dir := t.TempDir()
	ca, err := pki.New("test")
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := ca.Issue(pki.Serving("statesrv"))
	if err != nil {
		t.Fatal(err)
	}
	_, hash, _ := strings.Cut(usersLine(t, "ann", "pw"), ":")
	hash = strings.TrimSpace(hash)
	users := "ann:" + hash + "\nbob:" + hash + ":team/*\neye:" + hash + ":*:read-only\nbuild:-\n"
	for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": ca.PEM(), "users": []byte(users)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	args = append([]string{"serve", "--store", "memory:", "--port", "0", "--port-file", file("port"), "--users", file("users"),
		"--tls-cert", file("tls.crt"), "--tls-key", file("tls.key"), "--client-ca", file("ca.crt")}, args...)
	p := spawn(t, []string{"HOME=" + dir}, tools.Build(t, "./cmd/statesrv"), args...)
	s := &secureServer{ca: ca, client: trusting(ca)}
	p.waitFor(t, func() error {
		port, err := os.ReadFile(file("port"))
		s.url = "https://localhost:" + strings.TrimSpace(string(port))
		return err
	})
	return s
}

func trusting(ca *pki.Authority) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

// trust makes a real client trust the server.
func (s *secureServer) trust() []string {
	return []string{"TF_HTTP_CLIENT_CA_CERTIFICATE_PEM=" + string(s.ca.PEM())}
}

// password makes a real client ann.
func (s *secureServer) password() []string {
	return append(s.trust(), "TF_HTTP_USERNAME=ann", "TF_HTTP_PASSWORD=pw")
}

// certificate makes a real client the one that a certificate names.
func (s *secureServer) certificate(t *testing.T, name string) []string {
	t.Helper()
	cert, key, err := s.ca.Issue(pki.Client(pkix.Name{CommonName: name}))
	if err != nil {
		t.Fatal(err)
	}
	return append(s.trust(), "TF_HTTP_CLIENT_CERTIFICATE_PEM="+string(cert), "TF_HTTP_CLIENT_PRIVATE_KEY_PEM="+string(key))
}
