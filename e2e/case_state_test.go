package e2e

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestFailureLeavesStateAlone has a state with resources and a module that cannot even be planned: not a byte of the
// Secret changes. cases.md 31.
func TestFailureLeavesStateAlone(t *testing.T) {
	t.Parallel()
	onKubernetes(t, func(t *testing.T, f *fixture, k *kubernetes) {
		t.Parallel()
		f.must(t, 0, "apply")
		before := k.secret(t)
		for name, broken := range map[string]struct {
			text   string
			reason result.Reason
		}{
			"syntax error":                   {`resource "probe_file" "first" {`, result.ReasonConfig},
			"a provider that does not exist": {`terraform { required_providers { probe = { source = "example.test/captf/none" } } }`, result.ReasonConfig},
			"a provider that fails":          {`resource "probe_file" "first" { fail = "plan" }`, result.ReasonProvider},
		} {
			f.write(t, "broken_override.tf", broken.text)
			for _, op := range []string{"apply", "plan"} {
				o := f.must(t, result.ExitFailed, op, "--plan-key-file", f.planKey(t))
				if e := o.result.Error; e.Kind != result.KindStep || e.Reason != broken.reason {
					t.Errorf("%s, %s: error = %+v, want %s\n%s", name, op, e, broken.reason, o)
				}
			}
		}
		if diff := cmp.Diff(before.Data, k.secret(t).Data); diff != "" {
			t.Errorf("the state was changed (-before +after):\n%s", diff)
		}
	})
}

// encrypted has OpenTofu encrypt the state with a passphrase.
const encrypted = `terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "PASSPHRASE"
      iterations = 200000
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method = method.aes_gcm.m
    }
  }
}
`

// TestWrongPassphrase has an encrypted state and a root that cannot decrypt it, or does not try to: the state is not
// taken for an empty one, and not a byte of it changes. cases.md 30.
func TestWrongPassphrase(t *testing.T) {
	for name, newBackend := range map[string]func(*testing.T, *fixture) backend{
		"statesrv": newStatesrv, "kubernetes": backends["kubernetes"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tools.Runtimes(t)[0], newBackend) // Terraform has no encryption
			passphrase := func(text string) {
				f.write(t, "encryption.tf", strings.ReplaceAll(encrypted, "PASSPHRASE", text))
			}
			passphrase("correct-horse-battery-staple")
			f.must(t, 0, "apply")
			before := string(f.backend.state(t))
			if !strings.Contains(before, "encrypted_data") {
				t.Fatal("the state is not encrypted")
			}
			refused := func(op string) {
				t.Helper()
				o := f.must(t, result.ExitFailed, op)
				if e := o.result.Error; e.Reason != result.ReasonConfig || !strings.Contains(e.Tail, "crypt") {
					t.Errorf("error = %+v, want what the runtime says about the encryption\n%s", e, o)
				}
			}
			passphrase("another-horse-battery-staple")
			refused("apply")
			remove(t, filepath.Join(f.config, "encryption.tf"))
			refused("destroy")
			if string(f.backend.state(t)) != before || f.backend.holder(t) != "" {
				t.Error("the state was changed, or its lock is held")
			}
			passphrase("correct-horse-battery-staple")
			f.must(t, 0, "apply")
			wantFile(t, f.files+"/second", "one")
		})
	}
}

// TestReusedDirectory runs twice in one working directory, for two states: nothing of the first one gets into the
// second. cases.md 62.
func TestReusedDirectory(t *testing.T) {
	onLookable(t, func(t *testing.T, f *fixture) {
		f.must(t, 0, "apply")
		first := f.backend
		before := string(first.state(t))
		other := newFixture(t, f.runtime, func(t *testing.T, f *fixture) backend {
			if _, ok := first.(asked); ok {
				return newStatesrv(t, f)
			}
			return newKubernetes(t, f)
		})
		other.dir = f.dir // and with it the working directory
		o := other.must(t, 0, "plan", "--plan-key-file", other.planKey(t))
		if p := o.result.Plan; p.Create != 2 || p.Update+p.Replace+p.Delete != 0 {
			t.Errorf("plan = %+v, want two creates: the second state is empty", p)
		}
		other.wantState(t)
		other.must(t, 0, "apply")
		if a, b := parseState(t, []byte(before)).Lineage, parseState(t, other.backend.state(t)).Lineage; a == b {
			t.Errorf("both states have lineage %s", a)
		}
		if string(first.state(t)) != before {
			t.Error("the first state was changed")
		}
	})
}

// TestManyRunsOnOneMirror starts five runs at once that share the providers, and an environment that names one plug-in
// cache for all: none disturbs another. cases.md 60.
func TestManyRunsOnOneMirror(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		cache := t.TempDir()
		var all sync.WaitGroup
		for range 5 {
			f := newFixture(t, runtime, newHTTP)
			f.env = append(f.env, "TF_PLUGIN_CACHE_DIR="+cache)
			cmd := f.command(t.Context(), "apply")
			all.Go(func() {
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		all.Wait()
		if used, _ := filepath.Glob(cache + "/*"); len(used) > 0 {
			t.Errorf("the cache was used: %v", used)
		}
	})
}

// TestBusyBinary plays an init that finds a provider's file still open for writing, as in a cache that another run
// fills: it is repeated. cases.md 60.
func TestBusyBinary(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tools.Runtimes(t)[0], newHTTP)
	f.stub(t, `echo "$1" >>'`+f.dir+`/calls'
if [ "$1" = init ] && [ $(grep -c init '`+f.dir+`/calls') = 1 ]; then
	echo 'Error: Failed to install provider: fork/exec .terraform/providers/x: text file busy' >&2
	exit 1
fi
exec "$REAL" "$@"
`)
	o := f.must(t, 0, "apply")
	if s := o.result.Steps[0]; s.Attempts != 2 {
		t.Errorf("first step = %+v, want init of two attempts", s)
	}
}
