package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/access"
)

// passwordVar has the password of --user, and that of a client.
const passwordVar = "STATESRV_PASSWORD"

// protection is who may use a server, and its TLS.
type protection struct {
	auth  statesrv.Authenticator // nil: anybody
	tls   *access.Live[*tls.Config]
	files []access.Reloader // that may change while the server runs
	how   string            // for the log
	// shutOut are users who have no way in.
	shutOut []string
}

// protect reads what the options name.
func (a *App) protect(s serveOptions) (*protection, error) {
	p := &protection{how: "anybody"}
	var opts access.Options
	if s.cert != "" {
		live, err := access.LoadTLS(s.cert, s.key, s.clientCA)
		if err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		p.tls, p.files = live, append(p.files, live)
		opts.Certificates = s.clientCA != ""
	}
	switch {
	case s.users != "":
		users, err := access.LoadUsers(s.users)
		if err != nil {
			return nil, fmt.Errorf("users: %w", err)
		}
		opts.Users, p.files, p.how = users, append(p.files, users), "users of "+s.users
		if !opts.Certificates {
			p.shutOut = users.Get().NeedCertificates()
		}
	case s.user != "":
		password := a.Getenv(passwordVar)
		if password == "" {
			return nil, usagef("--user %s needs the password in %s", s.user, passwordVar)
		}
		opts.Basic, p.how = statesrv.NewOneUser(s.user, password), "user "+s.user
	case opts.Certificates:
		p.how = "client certificates"
	default:
		return p, nil
	}
	p.auth = access.New(opts)
	return p, nil
}

// notAfter is when the server's certificate ends.
func (p *protection) notAfter() time.Time {
	cert, err := x509.ParseCertificate(p.tls.Get().Certificates[0].Certificate[0])
	if err != nil {
		return time.Time{}
	}
	return cert.NotAfter
}
