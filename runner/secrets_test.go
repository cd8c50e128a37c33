package runner

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// rootWithSecrets has a secret in each place that a run reads before its first step, in files of these names.
var rootWithSecrets = map[string]string{
	"main.tf": `terraform {
  backend "http" {}
}
variable "plain" {}
variable "db_password" {}
variable "declared" {
  sensitive = true
  default   = "in-the-default-0"
}
`,
	"terraform.tfvars":       "plain = \"not-a-secret\"\ndb_password = \"in-tfvars-11111\"\n",
	"a.auto.tfvars":          `declared = { deep = ["in-auto-tfvars-2"] }`,
	"terraform.tfvars.json":  `{"plain": "not-a-secret", "db_password": "in-tfvars-json-3"}`,
	"b.auto.tfvars.json":     `{"declared": {"deep": ["in-auto-json-444"]}}`,
	"elsewhere/given.tfvars": `db_password = "in-a-var-file-55"`,
}

// A run hides what is secret in the variables files, in the defaults and in --backend-config, and nothing else.
func TestSecretsOfTheInputs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range rootWithSecrets {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &run{redact: redact.New(), log: slog.New(slog.DiscardHandler), work: workspace{dir: dir, root: dir}, stop: runtime.NewStop(0)}
	r.opts.VarFiles = []string{filepath.Join(dir, "elsewhere/given.tfvars")}
	r.opts.BackendConfig = []string{"address=http://127.0.0.1:1/x", "username=some-user", "password=in-the-backend-6"}
	if err := r.prepareInputs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.prepareBackend(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := r.collectVariables(); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"in-the-default-0", "in-tfvars-11111", "in-auto-tfvars-2", "in-tfvars-json-3", "in-auto-json-444", "in-a-var-file-55", "in-the-backend-6"} {
		if got := r.redact.String("it is " + secret); got != "it is "+redact.Placeholder {
			t.Errorf("%q is shown as %q", secret, got)
		}
	}
	if got := r.redact.String("not-a-secret some-user"); got != "not-a-secret some-user" {
		t.Errorf("what is no secret is shown as %q", got)
	}
}

// The error of a push is cut to the size of a tail: not in the middle of a secret, of which the rest would be shown.
func TestSecretInPushError(t *testing.T) {
	const secret = "s3cret-that-is-cut-in-two-by-the-limit-of-a-tail"
	dir := t.TempDir()
	bin := filepath.Join(dir, "runtime")
	text := strings.Repeat("x", 512-len("Error: ")-20) + secret
	if err := os.WriteFile(bin, []byte("#!/bin/sh\necho 'Error: "+text+" HTTP error: 413' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	stop := runtime.NewStop(time.Minute)
	rt, err := runtime.New([]string{bin}, dir, runtime.NewEnviron(os.Environ(), nil), stop)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{redact: redact.New(), log: slog.New(slog.DiscardHandler), stop: stop, rt: rt, report: report{Result: &result.Result{Lock: &result.Lock{}}}}
	r.redact.Add(secret)
	if err = r.push(t.Context(), unsavedState{bytes: []byte("{}")}); err == nil || strings.Contains(err.Error(), secret[:11]) || !strings.Contains(err.Error(), "xxx") {
		t.Errorf("the error of the push: %v", err)
	}
}
