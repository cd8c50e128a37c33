package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/captf/captf-runner/runner/result"
)

// called names the runtime by this path, or name on PATH.
func called(path string) func(*testing.T, *fixture) {
	return func(_ *testing.T, f *fixture) { f.runtime.Path = strings.ReplaceAll(path, "DIR", f.dir) }
}

// holds is a runtime whose file holds this.
func holds(text string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) { overwrite(t, f.runtime.Path, text) }
}

// plays is a runtime that behaves like this.
func plays(script string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) { f.stub(t, script) }
}

func notExecutable(t *testing.T, f *fixture) {
	if err := os.Chmod(f.runtime.Path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBadRuntimeFile(t *testing.T) {
	cannotStart := func(name string, prepare func(*testing.T, *fixture), says ...string) bad {
		return badLayout(name, nil, append(says, "--bin")...).with(prepare)
	}
	testBad(t,
		cannotStart("missing", called("DIR/nowhere"), "/nowhere", "is not there"),
		cannotStart("not on PATH", called("no-such-runtime"), "no-such-runtime", "is not on PATH"),
		cannotStart("no name", called(""), "no command given"),
		cannotStart("not executable", notExecutable, "/runtime", "permission denied"),
		cannotStart("a folder", called("DIR/config"), "/config", "is a directory"),
		cannotStart("for another machine", holds("\x7fELF and nothing that follows"), "/runtime", "exec format error"),
		cannotStart("interpreter missing", holds("#!/nowhere/sh\n"), "/runtime", "no such file or directory"),
	)
}

func TestBadRuntime(t *testing.T) {
	noRuntime := func(name, script string, says ...string) bad {
		b := badLayout(name, nil, append(says, "/runtime version -json", "neither tofu nor terraform", "--bin")...).with(plays(script))
		b.steps = "init"
		return b
	}
	dies := func(name, script string, reason result.Reason, steps string, says ...string) bad {
		return bad{name: name, prepare: plays(script), code: result.ExitFailed, kind: result.KindStep, reason: reason, steps: steps, says: says}
	}
	const inApply = `case "$1" in
version) echo '{"terraform_version":"1.5.7"}' ;;
apply) kill -SIGNAL $$ ;;
esac`
	testBad(t,
		noRuntime("another program", `echo "$@"`),
		noRuntime("garbage as its version", `echo '{"terraform_version":"one point five"}'`, "one point five"),
		noRuntime("JSON without a version", `echo '{}'`),
		noRuntime("10 MiB as its version", `head -c 10485760 /dev/zero | tr '\0' x; echo`, "more than 1 MiB"),
		noRuntime("a version without an end", `[ "$1" = init ] || exec yes`, "more than 1 MiB"),
		noRuntime("ends at once", `exit 0`),
		noRuntime("fails at once", `echo broken >&2; exit 9`, "exit 9"),
		noRuntime("crashes at once", `kill -SEGV $$`, "SIGSEGV"),
		dies("is killed at once", `kill -KILL $$`, result.ReasonKilled, "init", "killed", "memory"),
		dies("is killed in apply", strings.Replace(inApply, "SIGNAL", "KILL", 1), result.ReasonKilled, "init apply", "killed", "memory"),
		dies("crashes in apply", strings.Replace(inApply, "SIGNAL", "SEGV", 1), result.ReasonCrashed, "init apply", "SIGSEGV"),
	)
}

// A runtime may write one line of 10 MiB, or close its output and work on: neither is an error.
func TestOddRuntimeThatWorks(t *testing.T) {
	for name, apply := range map[string]string{
		"a line of 10 MiB":      `head -c 10485760 /dev/zero | tr '\0' x; echo; echo after the line`,
		"a line without an end": `printf 'after the line'`,
		"a closed output":       `echo after the line; exec >&- 2>&-; sleep 0.3; touch "$(dirname "$0")/to-the-end"`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newBadFixture(t)
			f.stub(t, harmless+`case "$1" in apply) `+apply+` ;; esac`)
			o := f.must(t, 0, "apply", more()(f)...)
			if got := o.steps(); got != "init apply" {
				t.Errorf("steps %q", got)
			}
			if !strings.Contains(o.stdout, "after the line") {
				t.Errorf("output was lost:\n%.2000s", o.stdout)
			}
			if name == "a closed output" {
				if _, err := os.Stat(strings.TrimSuffix(f.runtime.Path, "runtime") + "to-the-end"); err != nil {
					t.Errorf("the runner did not wait for the end: %v", err)
				}
			}
		})
	}
}
