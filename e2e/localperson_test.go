package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// TestLocalErrors has a person with a laptop make mistakes: there is no image that the errors could speak of.
func TestLocalErrors(t *testing.T) {
	for name, row := range map[string]struct {
		flags []string
		says  string
	}{
		"module missing":       {[]string{"--module", "DIR/nowhere"}, "--module"},
		"module empty":         {[]string{"--module", "DIR/files"}, "--module"},
		"module not named":     {[]string{"--module", "/captf/module"}, "--module"},
		"runtime missing":      {[]string{"--bin", "DIR/nowhere"}, "--bin"},
		"runtime is no such":   {[]string{"--bin", "/bin/true"}, "--bin"},
		"variables missing":    {[]string{"--var-file", "DIR/nowhere.tfvars"}, "--var-file"},
		"variables are folder": {[]string{"--var-file", "DIR/files"}, "--var-file"},
		"mirror missing":       {[]string{"--providers", "DIR/nowhere"}, "--providers"},
		"mirror is a folder":   {[]string{"--providers", "DIR/files"}, "--providers"},
		"another backend, too": {[]string{"--backend-config", "address=http://127.0.0.1:9/x"}, "--local"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newBadFixture(t)
			f.backend = newLocal(t, f)
			o := f.run(t, "apply", only(row.flags...)(f)...)
			if text := lastLine(o.stderr); o.code == 0 || strings.Contains(text, "image") || !strings.Contains(text, row.says) {
				t.Errorf("exit %d: %s", o.code, text)
			}
		})
	}
}

// TestDriftForPerson has somebody delete one file and change another one.
func TestDriftForPerson(t *testing.T) {
	t.Parallel()
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newLocal)
		f.must(t, 0, "apply")
		overwrite(t, filepath.Join(f.files, "first"), "somebody else's")
		if err := os.Remove(filepath.Join(f.files, "second")); err != nil {
			t.Fatal(err)
		}
		o := f.must(t, 0, "drift")
		for _, want := range []string{"drift: ", "probe_file.first (changed outside)", "probe_file.second[0] (deleted outside)"} {
			if !strings.Contains(o.stdout, want) {
				t.Errorf("the summary lacks %q\n%s", want, o)
			}
		}
		// The refresh has told the state.
		o = f.must(t, 0, "drift")
		if !strings.Contains(o.stdout, "probe_file.second[0] (missing)") {
			t.Errorf("the second summary does not name what is missing\n%s", o)
		}
	})
}

// TestResultThatCannotBeWritten has a stream for the result that takes nothing: only the last word shows it.
func TestResultThatCannotBeWritten(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
		f := newFixture(t, runtime, newHTTP)
		o := f.run(t, "apply", "--result", "/dev/full")
		if o.code != result.ExitFailed {
			t.Errorf("exit %d, want %d\n%s", o.code, result.ExitFailed, o)
		}
		checkText(t, lastLine(o.stderr), []string{"result file /dev/full", "no space left", "2 added", "--result"})
		f.wantState(t, both...)
	})
}

// TestRefusedCredentials has a state server that does not know the password, or has none.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ from, to string }{
		"wrong password": {"password=", "password=wrong-"},
		"no user":        {"username=runner", "update_method=POST"},
	} {
		t.Run(name, func(t *testing.T) {
			eachRuntime(t, func(t *testing.T, runtime tools.Runtime) {
				f := newFixture(t, runtime, newHTTP)
				for i := range f.env {
					f.env[i] = strings.Replace(f.env[i], row.from, row.to, 1)
				}
				o := f.must(t, result.ExitFailed, "apply")
				if e := o.result.Error; e.Reason != result.ReasonCredentials || e.Step != "init" {
					t.Errorf("error = %+v, want refused credentials\n%s", e, o)
				}
				checkText(t, lastLine(o.stderr), []string{"refused", "password", "--backend-config", "CAPTF_BACKEND_CONFIG"})
			})
		})
	}
}
