package stores

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

// methods are the ways to configure the methods of the http backend.
var methods = map[string][]string{
	"LOCK and UNLOCK": nil,
	"POST and DELETE": {"TF_HTTP_LOCK_METHOD=POST", "TF_HTTP_UNLOCK_METHOD=DELETE"},
	"PUT":             {"TF_HTTP_LOCK_METHOD=PUT", "TF_HTTP_UNLOCK_METHOD=DELETE", "TF_HTTP_UPDATE_METHOD=PUT"},
}

// encryption is OpenTofu's own of a state.
const encryption = `TF_ENCRYPTION=key_provider "pbkdf2" "k" {
  passphrase = "correct-horse-battery-staple"
  iterations = 200000
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.k
}
state {
  method   = method.aes_gcm.m
  enforced = true
}`

// TestCommands runs every command that reads, writes or locks a state, with both
// clients and every way to configure the methods, through TLS, with a password or a
// client certificate, against a server that takes no write without a lock.
func TestCommands(t *testing.T) {
	s := startSecure(t, "--require-lock")
	for _, runtime := range tools.Runtimes(t) {
		for name, env := range methods {
			t.Run(runtime.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				who := s.password()
				if name == "PUT" {
					who = s.certificate(t, "build")
				}
				c := newCommands(t, s, runtime, name, append(who, env...))
				c.all(t)
			})
		}
	}
	t.Run("tofu/encrypted", func(t *testing.T) {
		t.Parallel()
		c := newCommands(t, s, tools.Runtimes(t)[0], "encrypted", append(s.password(), encryption))
		c.encrypted = true
		c.all(t)
	})
}

// commands is one root whose state goes through all commands.
type commands struct {
	*root
	state     *client.State
	encrypted bool
}

func newCommands(t *testing.T, s *secureServer, runtime tools.Runtime, name string, env []string) *commands {
	t.Helper()
	state := runtime.Name + "%2F" + strings.ReplaceAll(name, " ", "-")
	address := s.url + "/states/" + state
	if len(env) > 0 && strings.Contains(strings.Join(env, " "), "TF_HTTP_LOCK_METHOD") {
		env = append(env, "TF_HTTP_LOCK_ADDRESS="+address+"/lock", "TF_HTTP_UNLOCK_ADDRESS="+address+"/lock")
	}
	r := newRoot(t, runtime, address, env...)
	c, err := client.NewState(address, client.Options{User: "ann", Password: "pw", HTTP: s.client})
	if err != nil {
		t.Fatal(err)
	}
	return &commands{root: r, state: c}
}

func (c *commands) all(t *testing.T) {
	c.writes(t)
	c.pushes(t)
	c.locks(t)
	c.ok(t, "destroy", "-no-color", "-auto-approve")
	c.verify(t)
}

// writes are the commands that change resources.
func (c *commands) writes(t *testing.T) {
	c.ok(t, apply("one")...)
	c.ok(t, apply("two")...)
	c.ok(t, "plan", "-no-color", "-detailed-exitcode", "-var=text=two")
	c.write(t, "y.tf", `resource "terraform_data" "y" {}`)
	c.ok(t, "import", "-no-color", "terraform_data.y", "some-id")
	c.ok(t, "state", "mv", "terraform_data.y", "terraform_data.z")
	if got := c.ok(t, "state", "list"); got != "terraform_data.x\nterraform_data.z\n" {
		t.Errorf("state list: %q", got)
	}
	c.ok(t, "state", "rm", "terraform_data.z")
	c.ok(t, "refresh", "-no-color", "-var=text=two")
}

// pushes are the pushes that a client does, and those that no force makes good.
func (c *commands) pushes(t *testing.T) {
	old := c.ok(t, "state", "pull")
	c.write(t, "next.tfstate", withSerial(t, old, 50))
	c.ok(t, "state", "push", "next.tfstate")
	c.write(t, "now.tfstate", c.ok(t, "state", "pull"))
	c.ok(t, "state", "push", "now.tfstate") // what is there already
	c.write(t, "old.tfstate", old)
	c.refused(t, "over newer state", "state", "push", "old.tfstate")
	c.refused(t, "409", "state", "push", "-force", "old.tfstate")
	c.write(t, "other.tfstate", lineagePattern.ReplaceAllString(withSerial(t, old, 60), `"lineage": "another"`))
	c.refused(t, "unrelated state", "state", "push", "other.tfstate")
	if c.encrypted {
		return // the envelope of a forced push has no lineage of its own to compare
	}
	c.refused(t, "409", "state", "push", "-force", "other.tfstate")
}

var (
	serialPattern  = regexp.MustCompile(`"serial": ?[0-9]+`)
	lineagePattern = regexp.MustCompile(`"lineage": ?"[^"]+"`)
)

func withSerial(t *testing.T, state string, serial int) string {
	t.Helper()
	text, err := json.Marshal(serial)
	if err != nil || !serialPattern.MatchString(state) {
		t.Fatalf("%v, or no serial in %s", err, state)
	}
	return serialPattern.ReplaceAllString(state, `"serial": `+string(text))
}

// locks are the commands on a state that another has locked.
func (c *commands) locks(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.state.Lock(t.Context(), statesrv.LockInfo{ID: "held-by-bob", Who: "bob@two", Operation: "OperationTypeApply"}))
	for _, args := range [][]string{
		append(apply("three"), "-lock-timeout=1s"), {"state", "rm", "terraform_data.x"}, {"state", "push", "next.tfstate"},
		{"import", "-no-color", "terraform_data.y", "some-id"},
	} {
		c.refused(t, "held-by-bob", args...)
	}
	c.refused(t, "409", "force-unlock", "-force", "another")
	if c.runtime.Name == "tofu" {
		c.ok(t, "force-unlock", "-force", "held-by-bob")
	} else { // it sends no ID, which proves nothing
		c.refused(t, "409", "force-unlock", "-force", "held-by-bob")
		_, err := c.state.ForceUnlock(t.Context(), statesrv.ForceUnlockRequest{ID: "held-by-bob"})
		must(err)
	}
	c.ok(t, append(apply("three"), "-lock-timeout=5s")...)
}

// verify looks at what the server has kept: no lock, and no gap.
func (c *commands) verify(t *testing.T) {
	st, err := c.state.Status(t.Context())
	if err != nil || st.Lock != nil || st.Current == nil || st.Current.Opaque != c.encrypted {
		t.Errorf("status %+v, %v; want a current version, encrypted %v, and no lock", st, err, c.encrypted)
	}
	stored, err := pull(c.state.Pull(t.Context(), 0))
	if err != nil || c.encrypted == strings.Contains(string(stored), "terraform_version") {
		t.Errorf("encrypted %v, but stored as %s, %v", c.encrypted, stored, err)
	}
	page, err := c.state.Versions(t.Context(), 0, 1000)
	if err != nil || len(page.Versions) < 8 {
		t.Fatalf("%d versions, %v; want at least 8", len(page.Versions), err)
	}
	for i, v := range page.Versions {
		if v.Number != len(page.Versions)-i || v.LockID == "" || v.Forced {
			t.Errorf("version %+v, want number %d, written under a lock", v, len(page.Versions)-i)
		}
	}
	if _, err := os.Stat(filepath.Join(c.dir, "errored.tfstate")); err == nil {
		t.Error("a state could not be saved")
	}
}

// TestClientsWithoutAccess: real clients with no or wrong credentials change nothing.
func TestClientsWithoutAccess(t *testing.T) {
	s := startSecure(t)
	for _, runtime := range tools.Runtimes(t) {
		for name, c := range map[string]struct {
			env  []string
			want string
		}{
			"no credentials": {s.trust(), "requires auth"},
			"wrong password": {append(s.trust(), "TF_HTTP_USERNAME=ann", "TF_HTTP_PASSWORD=wrong"), "invalid auth"},
			"unknown user":   {append(s.trust(), "TF_HTTP_USERNAME=eve", "TF_HTTP_PASSWORD=pw"), "invalid auth"},
			"unknown CN":     {s.certificate(t, "stranger"), "invalid auth"},
			"other state":    {append(s.trust(), "TF_HTTP_USERNAME=bob", "TF_HTTP_PASSWORD=pw"), "invalid auth"},
			"read-only":      {append(s.trust(), "TF_HTTP_USERNAME=eye", "TF_HTTP_PASSWORD=pw"), "invalid auth"},
			"no trust":       {[]string{"TF_HTTP_USERNAME=ann", "TF_HTTP_PASSWORD=pw"}, "certificate"},
		} {
			t.Run(runtime.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := bareRoot(t, runtime, s.url+"/states/closed", c.env...)
				out, err := r.run(t, "init", "-no-color")
				if err == nil {
					out, err = r.run(t, apply("one")...)
				}
				if err == nil || !regexp.MustCompile(c.want).MatchString(out) {
					t.Errorf("%v, want a failure with %s:\n%s", err, c.want, out)
				}
			})
		}
	}
	t.Cleanup(func() { // after the parallel tests
		c, err := client.NewState(s.url+"/states/closed", client.Options{User: "ann", Password: "pw", HTTP: s.client})
		if err != nil {
			t.Fatal(err)
		}
		if st, err := c.Status(context.Background()); err != nil || st.Versions > 0 || st.Lock != nil {
			t.Errorf("something was changed: %+v, %v", st, err)
		}
	})
}
