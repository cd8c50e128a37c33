package stores

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
)

// The pages of docs/coming-from.md, with real clients. There is no GitLab here: a
// second statesrv stands for it, used with the settings that GitLab tells its users
// to take.

// resources is the module without its backend.
const resources = `
resource "terraform_data" "x" {
  input = "kept"
}
`

// httpBackend is the new home of a state.
func httpBackend(address string) string {
	return fmt.Sprintf(`
terraform {
  backend "http" {
    address        = "%[1]s"
    lock_address   = "%[1]s"
    unlock_address = "%[1]s"
  }
}
`, address)
}

// gitLabBackend is what GitLab's documentation says.
func gitLabBackend(address string) string {
	return fmt.Sprintf(`
terraform {
  backend "http" {
    address        = "%[1]s"
    lock_address   = "%[1]s/lock"
    unlock_address = "%[1]s/lock"
    lock_method    = "POST"
    unlock_method  = "DELETE"
    retry_wait_min = 5
  }
}
`, address)
}

const localBackend = `
terraform {
  backend "local" {}
}
`

// s3Backend is a bucket; only OpenTofu of these two has locks as files in it.
func s3Backend(runtime tools.Runtime, endpoint, key string) string {
	settings := fmt.Sprintf(`endpoint = %q
    force_path_style = true`, endpoint)
	if runtime.Name == "tofu" {
		settings = fmt.Sprintf(`endpoints = { s3 = %q }
    use_path_style = true
    skip_requesting_account_id = true
    skip_s3_checksum = true
    use_lockfile = true`, endpoint)
	}
	return fmt.Sprintf(`
terraform {
  backend "s3" {
    bucket = %q
    key    = %q
    region = "us-east-1"
    skip_credentials_validation = true
    skip_metadata_api_check = true
    skip_region_validation = true
    %s
  }
}
`, bucket, key, settings)
}

func TestComingFrom(t *testing.T) {
	gateway := startGateways(t, 1)[0]
	server, gitlab := startServer(t, "dir:"+t.TempDir()), startServer(t, "dir:"+t.TempDir())
	for _, runtime := range tools.Runtimes(t) {
		for _, how := range []string{"migrate", "push"} {
			name := runtime.Name + "-" + how
			for from, backend := range map[string]string{
				"gitlab": gitLabBackend(gitlab + "/states/" + name),
				"s3":     s3Backend(runtime, gateway, name+".tfstate"),
				"local":  localBackend,
			} {
				t.Run(name+"-"+from, func(t *testing.T) {
					t.Parallel()
					r := newModule(t, runtime, backend)
					r.ok(t, "init", "-no-color")
					r.ok(t, "apply", "-no-color", "-auto-approve")
					r.move(t, server, name+"-"+from, how)
				})
			}
		}
	}
}

// A migration compares the backend blocks: where only variables say which address to use, it copies nothing and
// succeeds, as the page warns.
func TestMigrationSeesNoVariables(t *testing.T) {
	t.Parallel()
	server := startServer(t, "dir:"+t.TempDir())
	for _, runtime := range tools.Runtimes(t) {
		r := newModule(t, runtime, `
terraform {
  backend "http" {}
}
`)
		rest := r.env
		r.env = slices.Concat(rest, variables(server+"/states/old-"+runtime.Name))
		r.ok(t, "init", "-no-color")
		r.ok(t, "apply", "-no-color", "-auto-approve")
		r.env = slices.Concat(rest, variables(server+"/states/new-"+runtime.Name))
		r.ok(t, "init", "-no-color", "-migrate-state", "-force-copy")
		for name, want := range map[string]int{"old-" + runtime.Name: 1, "new-" + runtime.Name: 0} {
			if st, err := at(t, server, name).Status(t.Context()); err != nil || st.Versions != want {
				t.Errorf("%s: %+v, %v; want %d versions", name, st, err, want)
			}
		}
	}
}

func variables(address string) []string {
	return []string{"TF_HTTP_ADDRESS=" + address, "TF_HTTP_LOCK_ADDRESS=" + address, "TF_HTTP_UNLOCK_ADDRESS=" + address}
}

// move brings a module's state to the server, and goes on there.
func (r *root) move(t *testing.T, server, name, how string) {
	t.Helper()
	address := server + "/states/" + name
	before := r.ok(t, "state", "pull")
	r.write(t, "backend.tf", httpBackend(address))
	if how == "migrate" {
		r.ok(t, "init", "-no-color", "-migrate-state", "-force-copy")
	} else {
		r.write(t, "old.tfstate", before)
		if out, err := exec.Command(tools.Build(t, "./cmd/statesrv"), "push", address, filepath.Join(r.dir, "old.tfstate")).CombinedOutput(); err != nil {
			t.Fatalf("push: %v\n%s", err, out)
		}
		r.reconfigure(t)
	}
	wantNoChanges(t, r)
	after := r.ok(t, "state", "pull")
	if how == "push" && before != after { // a migration begins a lineage of its own
		t.Errorf("before %s, after %s", before, after)
	}
	st, err := at(t, server, name).Status(t.Context())
	if err != nil || st.Versions != 1 || st.Lock != nil {
		t.Errorf("on the server: %+v, %v; want one version and no lock", st, err)
	}
	// The addresses and methods that GitLab's users have work here as well.
	r.write(t, "backend.tf", gitLabBackend(address))
	r.reconfigure(t)
	wantNoChanges(t, r)
	r.write(t, "main.tf", strings.Replace(resources, "kept", "changed", 1))
	r.ok(t, "apply", "-no-color", "-auto-approve")
}

// reconfigure begins to use another backend as it is. A state file that lies in the
// module would be offered to it, so it is moved away first.
func (r *root) reconfigure(t *testing.T) {
	t.Helper()
	file := filepath.Join(r.dir, "terraform.tfstate")
	if err := os.Rename(file, file+".moved"); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	r.ok(t, "init", "-no-color", "-reconfigure")
}

// newModule is a module with a backend of its own; nothing about backends is in the
// environment.
func newModule(t *testing.T, runtime tools.Runtime, backend string) *root {
	t.Helper()
	r := bareRoot(t, runtime, "")
	var env []string
	for _, pair := range r.env {
		if !strings.HasPrefix(pair, "TF_HTTP_") {
			env = append(env, pair)
		}
	}
	r.env = append(env, credentials...)
	r.write(t, "main.tf", resources)
	r.write(t, "backend.tf", backend)
	return r
}

func wantNoChanges(t *testing.T, r *root) {
	t.Helper()
	r.ok(t, "plan", "-no-color", "-detailed-exitcode")
}
