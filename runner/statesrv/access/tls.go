package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// LoadTLS reads a server's certificate and key, and the certificates of the
// authorities whose client certificates it accepts; clientCA may be "" for none.
// The files are PEM.
func LoadTLS(cert, key, clientCA string) (*Live[*tls.Config], error) {
	paths := []string{cert, key}
	if clientCA != "" {
		paths = append(paths, clientCA)
	}
	return Load(parseTLS, paths...)
}

func parseTLS(files [][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(files[0], files[1])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	}
	if len(files) > 2 {
		// Not required here: a password will do as well, and health checks need neither.
		config.ClientAuth = tls.VerifyClientCertIfGiven
		if config.ClientCAs, err = pool(files[2]); err != nil {
			return nil, fmt.Errorf("client CA: %w", err)
		}
	}
	return config, nil
}

func pool(pem []byte) (*x509.CertPool, error) {
	certs := x509.NewCertPool()
	if !certs.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in PEM is in it")
	}
	return certs, nil
}

// ServerTLS returns a configuration that uses what live has at each handshake.
func ServerTLS(live *Live[*tls.Config]) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return live.Get(), nil },
	}
}
