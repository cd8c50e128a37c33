package kubetest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// Forward hands requests on to the API server, with the tokens that they bring. A test puts it behind what does harm to
// some of them.
func (s *Server) Forward(tb testing.TB) *httputil.ReverseProxy {
	tb.Helper()
	config := s.Config()
	target, err := url.Parse(config.Host)
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1, // watches
	}
}

// Redirect copies a kubeconfig for one who reaches the server by another URL, where this certificate is shown: to a
// server without one, a client sends no token.
func Redirect(tb testing.TB, kubeconfig, url string, certificate *x509.Certificate) (path string) {
	tb.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = url
		cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	}
	path = filepath.Join(tb.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		tb.Fatal(err)
	}
	return path
}
