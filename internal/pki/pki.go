// Package pki makes certificates for the servers and clients of tests. Start with [New].
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// Authority signs certificates that are valid for a day.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority with a key and a certificate of its own.
func New(name string) (*Authority, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := sign(template, template, &key.PublicKey, key)
	return &Authority{cert: cert, key: key}, err
}

// PEM returns the authority's own certificate.
func (a *Authority) PEM() []byte { return Encode("CERTIFICATE", a.cert.Raw) }

// Issue signs a certificate for a new key; both are PEM.
func (a *Authority) Issue(template *x509.Certificate) (cert, key []byte, err error) {
	private, err := NewKey()
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	signed, err := sign(template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(private)
	return Encode("CERTIFICATE", signed.Raw), Encode("EC PRIVATE KEY", der), err
}

// Serving is a certificate of a server on loopback, also under more names.
func Serving(name string, more ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    append([]string{"localhost"}, more...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// Client is a client's certificate.
func Client(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(24 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// NewKey makes a private key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// Encode returns one PEM block.
func Encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
