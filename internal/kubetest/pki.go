package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pki is what one server's identities need, as PEM.
type pki struct {
	ca, serving, servingKey, admin, adminKey []byte
	tokenKey, tokenPublic                    []byte // of ServiceAccount tokens
}

// authority signs the certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newPKI() (*pki, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	p := &pki{ca: encode("CERTIFICATE", ca.cert.Raw)}
	p.serving, p.servingKey, err = ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	p.admin, p.adminKey, err = ca.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	p.tokenKey, p.tokenPublic, err = newTokenKey()
	return p, err
}

func newAuthority() (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kubetest"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := sign(template, template, &key.PublicKey, key)
	return &authority{cert: cert, key: key}, err
}

// issue signs a certificate for a new key.
func (a *authority) issue(template *x509.Certificate) (cert, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	signed, err := sign(template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(private)
	return encode("CERTIFICATE", signed.Raw), encode("EC PRIVATE KEY", der), err
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

func newTokenKey() (private, public []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	privateDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	publicDER, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return encode("EC PRIVATE KEY", privateDER), encode("PUBLIC KEY", publicDER), err
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// write puts what the API server reads into a directory.
func (p *pki) write(dir string) error {
	var errs []error
	for name, text := range map[string][]byte{
		"ca.crt": p.ca, "serving.crt": p.serving, "serving.key": p.servingKey, "token.key": p.tokenKey, "token.pub": p.tokenPublic,
	} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return errors.Join(errs...)
}
