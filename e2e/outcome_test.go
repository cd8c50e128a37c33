package e2e

import (
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestColourDecidesNothing plays runtimes that colour their output, and ones that lie in it. cases.md 64.
func TestColourDecidesNothing(t *testing.T) {
	const red, off = `\033[31m`, `\033[0m`
	rows := []struct {
		name, apply string
		code        int
		tail        string
	}{
		{"coloured failure", `printf '` + red + `Error: ` + off + `no such region\n' >&2; exit 1`, result.ExitFailed, "no such region"},
		{"plain failure", `printf 'Error: no such region\n' >&2; exit 1`, result.ExitFailed, "no such region"},
		{"silent failure", `exit 1`, result.ExitFailed, ""},
		{"failure that reads like success", `printf '\033[32mApply complete!` + off + `\n'; exit 1`, result.ExitFailed, "Apply complete!"},
		{"success that reads like failure", `printf '` + red + `Error: ` + off + `not really\n' >&2`, 0, ""},
		{"coloured events", `printf '{"@level":"error","@message":"x","type":"diagnostic","diagnostic":{"severity":"error","summary":"\\u001b[31mno such region\\u001b[0m","detail":""}}\n'; exit 1`, result.ExitFailed, "no such region"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := played(t, "apply) "+row.apply+" ;;").must(t, row.code, "apply")
			if strings.ContainsRune(o.stdout+o.stderr, '\x1b') {
				t.Errorf("an escape character is printed: %q", o.String())
			}
			if e := o.result.Error; e != nil && (e.Reason != result.ReasonConfig || !strings.Contains(e.Tail, row.tail) || strings.ContainsRune(e.Tail, '\x1b')) {
				t.Errorf("error = %+v, want %q without colours", e, row.tail)
			}
		})
	}
}

// TestColourOfProvider has a provider that colours what it says, which a runtime passes on as it is. cases.md 64.
func TestColourOfProvider(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		f.write(t, "fail_override.tf", strings.Replace(failingSecond, "refused on demand", `\u001b[31mno such region\u001b[0m`, 1))
		o := f.must(t, result.ExitFailed, "apply")
		if tail := o.result.Error.Tail; !strings.Contains(tail, "no such region") || strings.ContainsRune(tail, '\x1b') {
			t.Errorf("tail = %q, want it without colours", tail)
		}
		if strings.ContainsRune(o.stdout+o.stderr, '\x1b') {
			t.Errorf("an escape character is printed: %q", o.String())
		}
	})
}

// TestSensitiveValues looks for a sensitive value in all that a run leaves, when all goes well and when a provider
// tells it in an error. cases.md 66.
func TestSensitiveValues(t *testing.T) {
	const secret = "s3cr3t-of-the-input"
	everywhere(t, func(t *testing.T, f *fixture) {
		f.variables(t, map[string]string{"password": `"` + secret + `"`})
		silent := func(code int, op string, flags ...string) outcome {
			t.Helper()
			o := f.must(t, code, op, flags...)
			if strings.Contains(o.String(), secret) {
				t.Errorf("%s: the secret is printed:\n%s", op, o)
			}
			return o
		}
		silent(0, "plan", "--plan-key-file", f.planKey(t))
		silent(0, "apply")
		if !strings.Contains(string(f.backend.state(t)), secret) {
			t.Error("the secret is not in the state: this test looks for nothing")
		}
		overwrite(t, f.files+"/first", "changed by hand")
		silent(0, "drift")
		f.write(t, "fail_override.tf", "resource \"probe_file\" \"first\" {\n  fail = \"update\"\n}\n") // the detail has the secret
		o := silent(result.ExitFailed, "apply")
		if tail := o.result.Error.Tail; !strings.Contains(tail, "(sensitive)") || !strings.Contains(tail, "refused") {
			t.Errorf("tail = %q, want the provider's message without the secret", tail)
		}
		remove(t, f.config+"/fail_override.tf")
		silent(0, "destroy")
	})
}

// TestPlanWithChangesSucceeds has a plan that ends with 2. cases.md 68.
func TestPlanWithChangesSucceeds(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		o := f.must(t, 0, "plan", "--plan-key-file", f.planKey(t))
		if o.result.Error != nil || o.result.Plan.Create != 2 {
			t.Errorf("error = %+v, plan = %+v; want two creates", o.result.Error, o.result.Plan)
		}
		if s := o.result.Steps[1]; s.Name != "plan" || s.Exit != 2 {
			t.Errorf("second step = %+v, want a plan that ended with 2", s)
		}
		if got := parseState(t, f.backend.state(t)).addresses(); len(got) > 0 {
			t.Errorf("a plan has made %v", got)
		}
	})
}

// TestExitCodes has one run for each class of end that a Job's podFailurePolicy can tell apart. cases.md 69.
func TestExitCodes(t *testing.T) {
	const flake = `[ "$1" = init ] || exec "$REAL" "$@"
echo 'Error: Failed to query available provider packages: 502 Bad Gateway returned from registry.example' >&2
exit 1
`
	rows := []struct {
		name   string
		code   int
		kind   result.Kind
		reason result.Reason
		run    func(t *testing.T, f *fixture) outcome
	}{
		{"configuration", 1, result.KindStep, result.ReasonConfig, func(t *testing.T, f *fixture) outcome {
			f.write(t, "broken.tf", `output "x" { value = var.undeclared }`)
			return f.run(t, "apply")
		}},
		{"provider", 1, result.KindStep, result.ReasonProvider, func(t *testing.T, f *fixture) outcome {
			f.write(t, "fail_override.tf", failingSecond)
			return f.run(t, "apply")
		}},
		{"usage", 2, result.KindStep, result.ReasonUsage, func(t *testing.T, f *fixture) outcome {
			return f.run(t, "apply", "--lock-timeout", "5m", "--deadline", "4m")
		}},
		{"registry", 3, result.KindStep, result.ReasonRegistry, func(t *testing.T, f *fixture) outcome {
			f.stub(t, flake)
			return f.run(t, "apply", "--init-retries", "0")
		}},
		{"state server that is not there", 3, result.KindStep, result.ReasonBackend, func(t *testing.T, f *fixture) outcome {
			f.env = append(f.env, "CAPTF_BACKEND_CONFIG=address=http://127.0.0.1:1/x\nretry_max=0")
			return f.run(t, "apply")
		}},
		{"interrupted", 3, result.KindInterrupted, "", func(t *testing.T, f *fixture) outcome {
			f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \"1m\"\n}\n")
			return f.terminated(t, "3", "apply")
		}},
		{"deadline", 3, result.KindInterrupted, result.ReasonDeadline, func(t *testing.T, f *fixture) outcome {
			f.write(t, "slow_override.tf", "resource \"probe_file\" \"first\" {\n  delay = \"1m\"\n}\n")
			return f.run(t, "apply", "--lock-timeout", "1s", "--deadline", "3s")
		}},
		{"blocked", 4, result.KindBlocked, "", func(t *testing.T, f *fixture) outcome {
			f.must(t, 0, "apply")
			f.variables(t, map[string]string{"second": "false"})
			return f.run(t, "apply", "--guard-deletes")
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				o := row.run(t, newFixture(t, runtime, backends["http"]))
				if o.result == nil || o.result.Error == nil {
					t.Fatalf("no error in the result\n%s", o)
				}
				if e := o.result.Error; e.Kind != row.kind || e.Reason != row.reason {
					t.Errorf("error = %+v, want %s %s\n%s", e, row.kind, row.reason, o)
				}
				if o.code != row.code || o.result.ExitCode() != row.code {
					t.Errorf("exit %d, and the result stands for %d; want %d\n%s", o.code, o.result.ExitCode(), row.code, o)
				}
			})
		})
	}
}
