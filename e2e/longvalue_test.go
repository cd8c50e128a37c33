package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// longOutputs has outputs of more than the megabyte that is kept of an ordinary line, and a secret all through one of
// them.
const longOutputs = `
locals {
  two_kilobytes = "TWO_KILOBYTES"
  secrets       = join("-", [for i in range(100) : nonsensitive(var.password)])
}
output "a_long" { value = join("", [for i in range(1000) : local.two_kilobytes]) }
output "b_secrets" { value = join("-", [for i in range(1000) : local.secrets]) }
output "z_short" { value = "the last one" }
`

// TestLongOutputs has a person see what there is, and not how a runtime writes it: each output, a long one cut.
func TestLongOutputs(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		for name, newBackend := range map[string]func(*testing.T, *fixture) backend{"local": newLocal, "http": newHTTP} {
			f := newFixture(t, runtime, newBackend)
			f.write(t, "long.tf", strings.ReplaceAll(longOutputs, "TWO_KILOBYTES", strings.Repeat("k", 2<<10)))
			o := f.must(t, 0, "apply")
			if len(o.stdout) > 64<<10 || strings.Contains(o.stdout, `"@level"`) {
				t.Errorf("%s: the log has %d bytes\n%.300s", name, len(o.stdout), o.stdout)
			}
			if strings.Contains(o.String(), "hunter2") {
				t.Errorf("%s: a secret is shown", name)
			}
			shown := `output a_long = k{300,} ?… \[cut\]\noutput b_secrets = \(sensitive\)\noutput content = one\noutput password = \(sensitive\)\noutput z_short = the last one\n`
			if name == "local" && !regexp.MustCompile(shown).MatchString(o.stdout) {
				t.Errorf("the outputs are not summed up\n%.5000s", o.stdout)
			}
		}
	})
}

// TestLongLine has a runtime print an event of more than 64 KiB, which many a reader of lines stops at: what comes after
// it is read all the same. cases.md K.
func TestLongLine(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		f.write(t, "check.tf", `check "long" {
  assert {
    condition     = var.content == ""
    error_message = "This is long: `+strings.Repeat("k", 200<<10)+`"
  }
}
`)
		o := f.must(t, 0, "apply")
		wantChanges(t, o, result.Changes{Add: 2})
		_, after, found := strings.Cut(o.stdout, "This is long: kkk")
		if !found || !strings.Contains(after, "Apply complete!") {
			t.Errorf("after the long line the log has: …%.500s", after[max(0, len(after)-500):])
		}
	})
}
