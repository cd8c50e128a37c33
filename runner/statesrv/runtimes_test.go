package statesrv_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store/memory"
)

// The tests here run real OpenTofu and Terraform, which "make tools" builds.

// binary returns the path of a runtime.
func binary(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", ".tools", "bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: run make tools first", err)
	}
	return path
}

// root is a root module in a directory of its own, with its state on a server.
type root struct {
	path, dir string
	env       []string
}

const module = `
terraform {
  backend "http" {}
}
variable "text" {
  default = "one"
}
resource "terraform_data" "x" {
  input = var.text
}
`

// newRoot makes a module whose backend is at address; env adds to TF_HTTP_*.
func newRoot(t *testing.T, name, address string, env ...string) *root {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "tofurc")
	r := &root{path: binary(t, name), dir: filepath.Join(home, "module")}
	r.env = append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + config, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"TF_HTTP_ADDRESS=" + address, "TF_HTTP_LOCK_ADDRESS=" + address, "TF_HTTP_UNLOCK_ADDRESS=" + address, "TF_HTTP_RETRY_MAX=0",
	}, env...)
	for _, err := range []error{
		os.Mkdir(r.dir, 0o700),
		os.WriteFile(config, nil, 0o600),
		os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(module), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.ok(t, "init", "-no-color")
	return r
}

func (r *root) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.path, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *root) ok(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.run(t, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs a command that has to fail with a text in its output.
func (r *root) refused(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := r.run(t, args...)
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("%s: %v, want a failure with %q\n%s", strings.Join(args, " "), err, want, out)
	}
}

func apply(text string) []string {
	return []string{"apply", "-no-color", "-auto-approve", "-var=text=" + text}
}

// serveMemory returns States and a server on them.
func serveMemory(t *testing.T, rules statesrv.Rules, opts statesrv.HandlerOptions) (*statesrv.States, string) {
	t.Helper()
	states := statesrv.NewStates(memory.New(), rules)
	server := httptest.NewServer(statesrv.NewHandler(states, opts))
	t.Cleanup(server.Close)
	return states, server.URL
}

func onRuntimes(t *testing.T, test func(t *testing.T, name string)) {
	for _, name := range []string{"tofu", "terraform"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

// 55, 56: a lock that is held makes a client wait for -lock-timeout, and its
// message names the holder.
func TestRuntimeWaitsForTheLock(t *testing.T) {
	onRuntimes(t, func(t *testing.T, name string) {
		states, url := serveMemory(t, statesrv.Rules{}, statesrv.HandlerOptions{})
		r := newRoot(t, name, url+"/states/s")
		mustLock(t, states, "s", lockA)
		r.refused(t, "already locked: ID=a", append(apply("one"), "-lock-timeout=0s")...)

		// The lock is given back when the client has asked twice: it waited.
		done := make(chan string)
		go func() {
			out, err := r.run(t, append(apply("one"), "-lock-timeout=60s")...)
			done <- fmt.Sprintf("%v\n%s", err, out)
		}()
		before := refusals(t, states)
		for refusals(t, states) < before+2 {
			select {
			case out := <-done:
				t.Fatalf("did not wait: %s", out)
			default:
			}
		}
		if _, err := states.Unlock(t.Context(), "s", statesrv.UnlockRequest{ID: "a"}); err != nil {
			t.Error(err)
		}
		if out := <-done; !strings.HasPrefix(out, "<nil>") || !strings.Contains(out, "Apply complete") {
			t.Errorf("apply after waiting: %s", out)
		}
	})
}

func refusals(t *testing.T, states *statesrv.States) int {
	t.Helper()
	page, err := states.Events(t.Context(), "s", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, ev := range page.Events {
		if ev.Status == 423 {
			n++
		}
	}
	return n
}

// force-unlock of OpenTofu names the lock, that of Terraform does not.
func TestRuntimeForceUnlock(t *testing.T) {
	for _, c := range []struct {
		name  string
		allow bool
		wrong string // what an ID that is not the holder's gives; "" for success
		right string
	}{
		{"tofu", false, "409", ""},
		{"terraform", false, "409", "409"},
		{"terraform", true, "", ""},
	} {
		t.Run(fmt.Sprintf("%s allow=%v", c.name, c.allow), func(t *testing.T) {
			t.Parallel()
			states, url := serveMemory(t, statesrv.Rules{AllowEmptyUnlock: c.allow}, statesrv.HandlerOptions{})
			r := newRoot(t, c.name, url+"/states/s")
			for id, want := range map[string]string{"b": c.wrong, "a": c.right} {
				mustLock(t, states, "s", lockA)
				if want != "" {
					r.refused(t, want, "force-unlock", "-force", id)
				} else {
					r.ok(t, "force-unlock", "-force", id)
				}
				if held, err := states.Holder(t.Context(), "s"); (held == nil) != (want == "") {
					t.Errorf("force-unlock %s: held by %v, %v", id, held, err)
				}
				page, err := states.Events(t.Context(), "s", "", 500)
				if err != nil || page.Events[len(page.Events)-1].Action != statesrv.ActionForceUnlock {
					t.Errorf("force-unlock %s: %v, the events are %+v", id, err, page.Events)
				}
			}
		})
	}
}

// A restored version is a new one, which the next apply builds on.
func TestRuntimeAppliesAfterARestore(t *testing.T) {
	onRuntimes(t, func(t *testing.T, name string) {
		states, url := serveMemory(t, statesrv.Rules{}, statesrv.HandlerOptions{})
		r := newRoot(t, name, url+"/states/s")
		for _, text := range []string{"one", "two", "three"} {
			r.ok(t, apply(text)...)
		}
		if _, err := states.Restore(t.Context(), "s", statesrv.RestoreRequest{Version: 1}); err != nil {
			t.Fatal(err)
		}
		if got := input(t, r); got != "one" {
			t.Errorf("after the restore the state has %q", got)
		}
		r.ok(t, apply("four")...)
		if got := input(t, r); got != "four" {
			t.Errorf("after the next apply the state has %q", got)
		}
	})
}

// input returns what the state has as the resource's input.
func input(t *testing.T, r *root) string {
	t.Helper()
	var state struct {
		Resources []struct {
			Instances []struct {
				Attributes struct{ Input struct{ Value string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(r.ok(t, "state", "pull")), &state); err != nil || len(state.Resources) != 1 {
		t.Fatalf("state pull: %v, %+v", err, state)
	}
	return state.Resources[0].Instances[0].Attributes.Input.Value
}
