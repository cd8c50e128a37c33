package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/captf/captf-runner/runner/statesrv/client"
)

// connection returns how to reach a server: from statesrv's own variables, and
// from those of the http backend where they are not set.
func (a *App) connection() (client.Options, error) {
	opts := client.Options{
		User:     a.first("STATESRV_USERNAME", "TF_HTTP_USERNAME"),
		Password: a.first(passwordVar, "TF_HTTP_PASSWORD"),
		Agent:    fmt.Sprintf("statesrv/%s", a.Version),
	}
	config, err := a.clientTLS()
	if err != nil {
		return opts, usageError{err}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	opts.HTTP = &http.Client{Transport: transport}
	return opts, nil
}

func (a *App) first(names ...string) string {
	for _, name := range names {
		if v := a.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// clientTLS reads PEM from the files that STATESRV_* name, or from the backend's
// variables, which have it in themselves.
func (a *App) clientTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	ca, err := a.pem("STATESRV_CA_FILE", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM")
	if err != nil {
		return nil, err
	}
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("STATESRV_CA_FILE or TF_HTTP_CLIENT_CA_CERTIFICATE_PEM has no certificate in PEM")
		}
	}
	cert, err := a.pem("STATESRV_CERT_FILE", "TF_HTTP_CLIENT_CERTIFICATE_PEM")
	if err != nil {
		return nil, err
	}
	key, err := a.pem("STATESRV_KEY_FILE", "TF_HTTP_CLIENT_PRIVATE_KEY_PEM")
	if err != nil {
		return nil, err
	}
	if cert != nil || key != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client certificate (STATESRV_CERT_FILE and STATESRV_KEY_FILE, or TF_HTTP_CLIENT_CERTIFICATE_PEM and TF_HTTP_CLIENT_PRIVATE_KEY_PEM): %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if text := a.Getenv("TF_HTTP_SKIP_CERT_VERIFICATION"); text != "" {
		if config.InsecureSkipVerify, err = strconv.ParseBool(text); err != nil {
			return nil, fmt.Errorf("TF_HTTP_SKIP_CERT_VERIFICATION=%s: want true or false", text)
		}
	}
	return config, nil
}

func (a *App) pem(fileVar, textVar string) ([]byte, error) {
	if path := a.Getenv(fileVar); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fileVar, err)
		}
		return data, nil
	}
	if text := a.Getenv(textVar); text != "" {
		return []byte(text), nil
	}
	return nil, nil
}
