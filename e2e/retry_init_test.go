package e2e

import (
	"archive/zip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// registry is a provider registry that answers every request with this status. Both runtimes ask it by TLS, and
// trust it by SSL_CERT_FILE.
func (f *fixture) registry(t *testing.T, status int) *atomic.Int32 {
	t.Helper()
	asked := &atomic.Int32{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "terraform.json") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"providers.v1":"/v1/providers/"}`))
			return
		}
		asked.Add(1)
		http.Error(w, http.StatusText(status), status)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, "main.tf", strings.ReplaceAll(rootModule, "example.test/", "127.0.0.1:"+u.Port()+"/"))
	f.trust(t, server.Certificate().Raw)
	return asked
}

// TestRegistryDecidesAboutRetries has a registry that is there and does not have the provider, and one that is out of
// order: only the latter is asked again.
func TestRegistryDecidesAboutRetries(t *testing.T) {
	rows := []struct {
		name     string
		status   int
		code     int
		reason   result.Reason
		attempts int
	}{
		{"out of order", http.StatusBadGateway, result.ExitRetry, result.ReasonRegistry, 2},
		{"too many requests", http.StatusTooManyRequests, result.ExitRetry, result.ReasonRegistry, 2},
		{"does not have it", http.StatusNotFound, result.ExitFailed, result.ReasonConfig, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newHTTP)
				asked := f.registry(t, row.status)
				o := f.must(t, row.code, "apply", "--providers", "", "--init-retries", "1")
				if e := o.result.Error; e.Kind != result.KindStep || e.Reason != row.reason || e.Step != "init" {
					t.Errorf("error = %+v, want %s in init\n%s", e, row.reason, o)
				}
				if s := o.result.Steps; len(s) != 1 || s[0].Attempts != row.attempts {
					t.Errorf("steps = %+v, want one init of %d attempts", s, row.attempts)
				}
				if asked.Load() == 0 {
					t.Error("nobody asked the registry: this test shows nothing")
				}
			})
		})
	}
}

// TestInitIsRepeated has a registry of modules that is out of order, then gives no answer, and then works: the run
// succeeds, and nothing but init was repeated. cases.md 59.
func TestInitIsRepeated(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		t.Parallel()
		f := newFixture(t, runtime, newHTTP)
		f.modules(t, func(init int32, w http.ResponseWriter, r *http.Request) bool {
			switch init {
			case 1:
				http.Error(w, "Bad Gateway", http.StatusBadGateway)
			case 2:
				<-r.Context().Done() // the client has had enough
			}
			return init < 3
		})
		calls := f.record(t)
		o := f.must(t, 0, "apply")
		if got, want := steps(calls.calls(t)), "init init init apply"; got != want {
			t.Errorf("commands %q, want %q", got, want)
		}
		if s := o.result.Steps; len(s) != 2 || s[0].Attempts != 3 || s[1].Attempts != 0 {
			t.Errorf("steps = %+v, want three attempts of init and one of apply", s)
		}
		wantFile(t, f.files+"/third", "x")
	})
}

const thirdModule = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "path" {}
resource "probe_file" "third" {
  path    = var.path
  content = "x"
}
`

// modules puts a third file into a module of a registry. harms may answer in its place: it gets the number of the init
// that asks, and returns whether it has answered.
func (f *fixture) modules(t *testing.T, harms func(init int32, w http.ResponseWriter, r *http.Request) bool) {
	t.Helper()
	inits := &atomic.Int32{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/terraform.json", func(w http.ResponseWriter, _ *http.Request) {
		inits.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"modules.v1":"/v1/modules/"}`)
	})
	mux.HandleFunc("GET /v1/modules/captf/third/probe/versions", func(w http.ResponseWriter, r *http.Request) {
		if !harms(inits.Load(), w, r) {
			_, _ = io.WriteString(w, `{"modules":[{"versions":[{"version":"1.0.0"}]}]}`)
		}
	})
	mux.HandleFunc("GET /v1/modules/captf/third/probe/1.0.0/download", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", "https://"+r.Host+"/third.zip")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /third.zip", func(w http.ResponseWriter, _ *http.Request) {
		z := zip.NewWriter(w)
		if file, err := z.Create("main.tf"); err == nil {
			_, _ = io.WriteString(file, thirdModule)
		}
		_ = z.Close()
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	f.trust(t, server.Certificate().Raw)
	f.write(t, "third.tf", `module "third" {
  source = "`+server.Listener.Addr().String()+`/captf/third/probe"
  path   = "`+f.files+`/third"
}
`)
}

// TestOnlyInitIsRepeated plays the same failures in an apply, and permanent ones in init: nothing is repeated.
func TestOnlyInitIsRepeated(t *testing.T) {
	const flake = "Error: 502 Bad Gateway returned from registry.example"
	for name, row := range map[string]struct{ step, text string }{
		"a flake in apply":         {"apply", flake},
		"a checksum that is wrong": {"init", "Error: Failed to install provider: the package doesn't match any of the checksums recorded in the dependency lock file; 502 Bad Gateway"},
		"no such version":          {"init", "Error: Failed to query available provider packages: no available releases match the given constraints >= 99"},
		"broken HCL":               {"init", "Error: Argument or block definition required"},
		"a forbidden Secret":       {"init", `Error: secrets is forbidden: User "u" cannot list resource "secrets" in API group ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := played(t, row.step+") echo "+shellQuoted(row.text)+" >&2; exit 1 ;;")
			o := f.must(t, result.ExitFailed, "apply")
			if s := o.result.Steps[len(o.result.Steps)-1]; s.Name != row.step || s.Attempts != 0 {
				t.Errorf("last step = %+v, want %s once", s, row.step)
			}
		})
	}
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// trust has every program that the run starts trust this certificate, and no other.
func (f *fixture) trust(t *testing.T, certificate []byte) {
	t.Helper()
	path := f.dir + "/ca.pem"
	overwrite(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	f.env = append(f.env, "SSL_CERT_FILE="+path)
}
