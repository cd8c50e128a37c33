package kubetest

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"os"
	"path/filepath"

	testpki "github.com/captf/captf-runner/internal/pki"
)

// pki is what one server's identities need, as PEM.
type pki struct {
	ca, serving, servingKey, admin, adminKey []byte
	tokenKey, tokenPublic                    []byte // of ServiceAccount tokens
}

func newPKI() (*pki, error) {
	ca, err := testpki.New("kubetest")
	if err != nil {
		return nil, err
	}
	p := &pki{ca: ca.PEM()}
	p.serving, p.servingKey, err = ca.Issue(testpki.Serving("kube-apiserver", "kubernetes.default.svc"))
	if err != nil {
		return nil, err
	}
	p.admin, p.adminKey, err = ca.Issue(testpki.Client(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}))
	if err != nil {
		return nil, err
	}
	p.tokenKey, p.tokenPublic, err = newTokenKey()
	return p, err
}

func newTokenKey() (private, public []byte, err error) {
	key, err := testpki.NewKey()
	if err != nil {
		return nil, nil, err
	}
	privateDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	publicDER, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return testpki.Encode("EC PRIVATE KEY", privateDER), testpki.Encode("PUBLIC KEY", publicDER), err
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
