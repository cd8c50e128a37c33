package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// leaky is a module that does all it can to show its secrets: in errors, as they are and encoded, in addresses, in
// outputs and in what a provisioner prints.
const leaky = `
terraform {
  required_providers {
    probe = { source = "example.test/captf/probe" }
  }
}
variable "files" { type = string }
variable "declared" { sensitive = true }
variable "nested" { sensitive = true }
variable "api_token" { type = string }
locals {
  # only the plan says that it is sensitive
  planned = base64decode(file("planned.b64"))
  plain   = nonsensitive(var.declared)
}
resource "probe_file" "quoted" {
  path    = "${var.files}/quoted"
  content = "x"
  secret  = local.planned
  fail    = "create"
}
resource "probe_file" "encoded" {
  for_each  = toset([for i in range(40) : i == 0 ? var.api_token : tostring(i)])
  path      = "${var.files}/encoded"
  fail      = "create"
  fail_text = "${local.plain} ${jsonencode({ a = local.plain })} ${base64encode(local.plain)} ${urlencode(local.plain)} ${jsonencode(jsonencode(nonsensitive(var.nested)))}"
}
resource "terraform_data" "printing" {
  provisioner "local-exec" {
    command = "cat '${var.files}'/secret; printenv DEPLOY_TOKEN; cat '${var.files}'/secret >&2; exit 3"
  }
}
output "declared" {
  value     = var.declared
  sensitive = true
}
output "by_name" { value = var.api_token }
`

// secrets are what one run must hide.
type secrets struct{ declared, nested, byName, environ, planned string }

func (s secrets) all() map[string]string {
	return map[string]string{"declared": s.declared, "nested": s.nested, "by its name": s.byName, "of the environment": s.environ, "of the plan": s.planned}
}

// awkward are the characters of secrets that are written in more than one way.
var awkward = []string{
	"a", "Z", "7", "-", " ", "\t", `"`, `\`, "'", "/", "<", ">", "&", "$", "${", "%{", "}", "#", "%", "+", "=", ":", "@", ";", ",", "?", "|", "*",
	"é", "e\u0301", "ß", "п", "日本", "\U0001F511", "\u2028", "\u00a0",
}

// secret makes one of several lines. A run of letters and digits makes sure that it is like nothing else.
func secret(random *rand.Rand, lines int) string {
	text := make([]string, 1+random.IntN(lines))
	for i := range text {
		var b strings.Builder
		fmt.Fprintf(&b, "s3c%08x", random.Uint32())
		for range random.IntN(30) {
			b.WriteString(awkward[random.IntN(len(awkward))])
		}
		fmt.Fprintf(&b, "%04xr3t", random.Uint32()&0xffff)
		text[i] = b.String()
	}
	return strings.Join(text, "\n")
}

func newSecrets(seed uint64) secrets {
	random := rand.New(rand.NewPCG(seed, 0))
	return secrets{secret(random, 4), secret(random, 2), secret(random, 1), secret(random, 1), secret(random, 3)}
}

// seeds is how many runs there are with each runtime.
func seeds() uint64 {
	if os.Getenv("CAPTF_TORTURE") != "" {
		return 50
	}
	return 2
}

// TestNoSecretIsShown hides random secrets in everything that a run is given, and looks for them in everything that it
// leaves: log, result, events, the ConfigMap of a result that is too large, arguments and files.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		for seed := range seeds() {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				f, k := clusterFixture(t, runtime)
				s := newSecrets(seed)
				f.hide(t, s)
				calls := f.record(t)
				o := f.must(t, result.ExitFailed, "apply", "--guard-deletes", "--lock-timeout", "0",
					"--event-object", k.aboutConfigMap(t), "--job-name", "the-job", "--job-uid", "0e2b7a51-6d0e-4d2a-91a8-1d4f0e6a5b11")
				leaks := surfaces(t, f, k, o, calls)
				for name, secret := range s.all() {
					wantHidden(t, leaks, name, secret)
				}
				if !strings.Contains(o.stdout, "(sensitive)") || o.result.Document == "" {
					t.Errorf("nothing was hidden, or the result was not too large: this test looks for nothing\n%s", o)
				}
			})
		}
	})
}

// hide puts the secrets where a run finds them.
func (f *fixture) hide(t *testing.T, s secrets) {
	t.Helper()
	f.write(t, "main.tf", leaky)
	f.write(t, "planned.b64", base64.StdEncoding.EncodeToString([]byte(s.planned)))
	nested, err := json.Marshal(map[string]any{"list": []any{map[string]any{"deep": s.nested}}})
	if err != nil {
		t.Fatal(err)
	}
	f.variables(t, map[string]string{"declared": quoted(s.declared), "nested": string(nested), "api_token": quoted(s.byName)})
	overwrite(t, f.files+"/secret", s.declared+"\n")
	f.env = append(f.env, "DEPLOY_TOKEN="+s.environ)
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(text)
}

// wantHidden looks for a secret, and for each line of it, in every way to write it.
func wantHidden(t *testing.T, leaks map[string]string, name, secret string) {
	t.Helper()
	for _, part := range append(strings.Split(secret, "\n"), secret) {
		for _, form := range []string{part, inner(quoted(part)), inner(strconv.Quote(part)), base64.StdEncoding.EncodeToString([]byte(part)), inner(quoted(inner(quoted(part))))} {
			for where, text := range leaks {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s: the secret %s, %q, is shown as %q: …%q…", where, name, secret, form, text[max(0, i-60):min(len(text), i+len(form)+20)])
				}
			}
		}
	}
	core := secret[:11] // no prefix of it either
	for where, text := range leaks {
		if i := strings.Index(text, core); i >= 0 && utf8.ValidString(core) {
			t.Errorf("%s: the beginning of the secret %s, %q, is shown: …%q…", where, name, secret, text[max(0, i-60):min(len(text), i+80)])
		}
	}
}

// inner is what stands between the quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }
