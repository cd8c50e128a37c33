package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/naming"
)

// faultyCluster is a fixture on the real API server with faults: the run goes to it through a proxy of the test. The
// test itself looks at it directly.
func faultyCluster(t *testing.T, runtime tools.Runtime) (*fixture, *kubernetes, *faults) {
	t.Helper()
	f, k := clusterFixture(t, runtime)
	h := &faults{closed: make(chan struct{})}
	proxy := httptest.NewTLSServer(h.wrap(k.proxy(t)))
	t.Cleanup(proxy.Close)
	t.Cleanup(func() { close(h.closed) })
	config, err := clientcmd.LoadFromFile(k.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = proxy.URL
		cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	}
	k.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return f, k, h
}

// proxy hands requests on to the API server, with the token that they bring.
func (k *kubernetes) proxy(t *testing.T) http.Handler {
	t.Helper()
	config := k.server.Config()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1,
	}
}

// about matches the requests about objects of a resource, such as events.
func about(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path+"/", "/"+resource+"/") }
}

// writesSecret matches the requests with which a state is saved into its Secret.
func (k *kubernetes) writesSecret(r *http.Request) bool {
	return r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets/"+naming.StateSecret(k.suffix, 0))
}
