package access

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/internal/pki"
	"github.com/captf/captf-runner/runner/statesrv"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace changes a file at once, as a mounted Secret is changed.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	write(t, file, "ann:-\n")
	live, err := LoadUsers(file)
	if err != nil {
		t.Fatal(err)
	}
	now, told := make(chan bool), make(chan error, 10)
	go Watch(t.Context(), time.Hour, now, func(paths []string, err error) {
		if len(paths) != 1 || paths[0] != file {
			t.Errorf("told of %q", paths)
		}
		told <- err
	}, live)
	has := func(name string) bool { return live.Get().byName[name] != nil }

	replace(t, file, "bob:-\n")
	now <- true
	if err := <-told; err != nil || has("ann") || !has("bob") {
		t.Errorf("after a change: %v, ann %v, bob %v", err, has("ann"), has("bob"))
	}
	replace(t, file, "nonsense\n")
	now <- true
	if err := <-told; err == nil || !strings.Contains(err.Error(), file) || !has("bob") {
		t.Errorf("after a bad one: %v, bob %v; want an error with the file, and the old users", err, has("bob"))
	}
	now <- true // the same error is not told again
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	now <- true
	if err := <-told; !errors.Is(err, os.ErrNotExist) || !has("bob") {
		t.Errorf("without the file: %v, bob %v", err, has("bob"))
	}
	now <- true
	replace(t, file, "eve:-\n")
	now <- true
	if err := <-told; err != nil || !has("eve") {
		t.Errorf("after it is back: %v, eve %v", err, has("eve"))
	}
	now <- true
	if len(told) > 0 {
		t.Errorf("told without a change: %v", <-told)
	}
}

// What is new, or wrong, is told once.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	write(t, path, "ann:-\n")
	l, err := LoadUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text    string
		changed bool
		bad     bool
	}{
		{"ann:-\n", false, false}, {"bob:-\n", true, false}, {"bob:-\n", false, false},
		{"bob\n", false, true}, {"bob\n", false, false}, {"ann:-\n", true, false},
	} {
		write(t, path, step.text)
		if changed, err := l.Reload(); changed != step.changed || (err != nil) != step.bad {
			t.Errorf("%q: changed %v, error %v; want %v, %v", step.text, changed, err, step.changed, step.bad)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bad"), "x")
	if _, err := LoadUsers(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	ca := authority(t)
	cert, key := ca.pair(t, dir, "server", pki.Serving("server"))
	bad := filepath.Join(dir, "bad")
	alone, err := LoadTLS(cert, key, "")
	if err != nil {
		t.Fatal(err)
	}
	if c := alone.Get(); c.ClientAuth != tls.NoClientCert || c.MinVersion != tls.VersionTLS12 {
		t.Errorf("without an authority it asks clients for a certificate (%v), or speaks %#x", c.ClientAuth, c.MinVersion)
	}
	for _, paths := range [][3]string{{bad, key, ""}, {cert, bad, ""}, {cert, key, bad}, {cert, cert, ""}} {
		_, err := LoadTLS(paths[0], paths[1], paths[2])
		if err == nil || paths[2] == bad && !strings.Contains(err.Error(), bad) {
			t.Errorf("LoadTLS(%q): %v, want an error that names the file", paths, err)
		}
	}
}

type testAuthority struct{ *pki.Authority }

func authority(t *testing.T) testAuthority {
	t.Helper()
	a, err := pki.New("test")
	if err != nil {
		t.Fatal(err)
	}
	return testAuthority{a}
}

// pair writes a certificate and its key to files.
func (a testAuthority) pair(t *testing.T, dir, name string, template *x509.Certificate) (cert, key string) {
	t.Helper()
	c, k, err := a.Issue(template)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	write(t, cert, string(c))
	write(t, key, string(k))
	return cert, key
}

// client returns an HTTP client that trusts the authority, with a certificate of
// another one if name is not "".
func (a testAuthority) client(t *testing.T, issuer testAuthority, name string) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(a.PEM())
	if name != "" {
		cert, key, err := issuer.Issue(pki.Client(pkix.Name{CommonName: strings.TrimSpace(name)}))
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return &http.Client{Transport: transport}
}

// whoami answers with the caller's name.
func whoami(a *Authenticator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.Authenticate(r)
		switch {
		case errors.Is(err, statesrv.ErrNoCredentials):
			w.WriteHeader(401)
		case err != nil:
			w.WriteHeader(403)
		}
		_, _ = io.WriteString(w, who.Name)
	})
}

func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, other := authority(t), authority(t)
	cert, key := ca.pair(t, dir, "server", pki.Serving("server"))
	caFile := filepath.Join(dir, "ca.crt")
	write(t, caFile, string(ca.PEM()))
	live, err := LoadTLS(cert, key, caFile)
	if err != nil {
		t.Fatal(err)
	}
	users := fixed(usersOf(t, "ann:-", "bob:"+bcryptOf(t, "p")+":bobs/*"))
	basics := statesrv.NewOneUser("team", "pw")
	for _, c := range []struct {
		what   string
		opts   Options
		issuer testAuthority
		name   string // of the client's certificate
		user   string // with password p
		want   string // status and name
	}{
		{"certificate alone", Options{}, ca, "ann", "", "200 ann"},
		{"no certificate", Options{}, ca, "", "", "401 "},
		{"password where none is known", Options{}, ca, "", "ann", "401 "},
		{"no common name", Options{}, ca, " ", "", "403 "},
		{"of another authority", Options{}, other, "ann", "", "refused"},
		{"in the users file", Options{Users: users}, ca, "ann", "", "200 ann"},
		{"not in the users file", Options{Users: users}, ca, "eve", "", "403 "},
		{"password instead", Options{Users: users}, ca, "", "bob", "200 bob"},
		{"certificate of one, password of another", Options{Users: users}, ca, "ann", "bob", "403 "},
		{"certificate and password of one", Options{Users: users}, ca, "ann", "ann", "200 ann"},
		{"password beside it where none is known", Options{}, ca, "ann", "bob", "200 ann"},
		{"wrong password of the one user", Options{Basic: basics}, ca, "", "team", "403 "},
		{"certificate beside the one user", Options{Basic: basics}, ca, "ann", "", "200 ann"},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.opts.Certificates = true
			server := httptest.NewUnstartedServer(whoami(New(c.opts)))
			server.TLS = ServerTLS(live)
			server.Config.ErrorLog = discard()
			server.StartTLS()
			defer server.Close()
			if got := ask(t, ca.client(t, c.issuer, c.name), server.URL, c.user); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A new certificate and a new client CA are used by the next connection.
func TestTLSReload(t *testing.T) {
	dir := t.TempDir()
	old, next := authority(t), authority(t)
	cert, key := old.pair(t, dir, "server", pki.Serving("server"))
	caFile := filepath.Join(dir, "ca.crt")
	write(t, caFile, string(old.PEM()))
	live, err := LoadTLS(cert, key, caFile)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(whoami(New(Options{Certificates: true})))
	server.TLS = ServerTLS(live)
	server.Config.ErrorLog = discard()
	server.StartTLS()
	defer server.Close()
	before, after := old.client(t, old, "ann"), next.client(t, next, "ann")
	check := func(wantOld, wantNew string) {
		t.Helper()
		if got := ask(t, before, server.URL, ""); got != wantOld {
			t.Errorf("the old client got %q, want %q", got, wantOld)
		}
		if got := ask(t, after, server.URL, ""); got != wantNew {
			t.Errorf("the new client got %q, want %q", got, wantNew)
		}
	}
	check("200 ann", "refused")
	next.pair(t, dir, "server", pki.Serving("server"))
	write(t, caFile, string(next.PEM()))
	if changed, err := live.Reload(); !changed || err != nil {
		t.Fatalf("reload: %v, %v", changed, err)
	}
	check("refused", "200 ann")
}

func ask(t *testing.T, client *http.Client, url, user string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, "p")
	}
	resp, err := client.Do(req)
	if err != nil {
		return "refused"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "refused"
	}
	return resp.Status[:3] + " " + string(body)
}

func discard() *log.Logger { return log.New(io.Discard, "", 0) }
