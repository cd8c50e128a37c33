package e2e

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/captf/captf-runner/internal/tools"
	"github.com/captf/captf-runner/runner/result"
)

// bad is one thing that is wrong with what a run is given, and what the run has to make of it.
type bad struct {
	name    string
	prepare func(t *testing.T, f *fixture)
	op      string // apply when it is empty
	flags   func(f *fixture) []string
	code    int
	kind    result.Kind
	reason  result.Reason
	says    []string // the object and the way out
	steps   string   // what was run, in the result
}

// badUsage, badConfig and badLayout are the three ways to fail before anything runs.
func badUsage(name string, flags func(*fixture) []string, says ...string) bad {
	return bad{name: name, flags: flags, code: result.ExitUsage, kind: result.KindStep, reason: result.ReasonUsage, says: says}
}

func badConfig(name string, flags func(*fixture) []string, says ...string) bad {
	return bad{name: name, flags: flags, code: result.ExitFailed, kind: result.KindStep, reason: result.ReasonConfig, says: says}
}

func badLayout(name string, flags func(*fixture) []string, says ...string) bad {
	return bad{name: name, flags: flags, code: result.ExitFailed, kind: result.KindImageLayout, reason: result.ReasonConfig, says: says}
}

func (b bad) with(prepare func(*testing.T, *fixture)) bad { b.prepare = prepare; return b }

// harmless is a runtime that does nothing, and notes what it was asked for.
const harmless = `echo "$*" >>"$(dirname "$0")/calls"
case "$1" in version) echo '{"terraform_version":"1.5.7"}' ;; esac
`

// newBadFixture is a run with nothing wrong with it, until the case changes that.
func newBadFixture(t *testing.T) *fixture {
	f := newFixture(t, tools.Runtime{}, nil)
	f.stub(t, harmless)
	return f
}

// started are the commands that the harmless runtime was asked for.
func (f *fixture) started(t *testing.T) string {
	calls, err := os.ReadFile(filepath.Join(filepath.Dir(f.runtime.Path), "calls"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(calls)
}

func testBad(t *testing.T, cases ...bad) {
	for _, b := range cases {
		t.Run(b.name, b.test)
	}
}

func (b bad) test(t *testing.T) {
	f := newBadFixture(t)
	if b.prepare != nil {
		b.prepare(t, f)
	}
	flags := more()(f)
	if b.flags != nil {
		flags = b.flags(f)
	}
	o := f.must(t, b.code, cmp.Or(b.op, "apply"), flags...)
	if e := o.result.Error; e == nil || e.Kind != b.kind || e.Reason != b.reason {
		t.Errorf("error = %+v, want kind %s, reason %q", e, b.kind, b.reason)
	} else {
		checkText(t, e.Tail, b.says)
	}
	if got := o.steps(); got != b.steps {
		t.Errorf("steps %q, want %q", got, b.steps)
	}
	if calls := f.started(t); b.steps == "" && calls != "" {
		t.Errorf("the runtime was started before the error was found:\n%s", calls)
	}
	checkText(t, lastLine(o.stderr), b.says)
	if strings.Contains(o.String(), "hunter2") {
		t.Error("a secret is printed")
	}
	if t.Failed() {
		t.Log(o)
	}
}

// checkText wants one error in lower case, which names the object and the way out.
func checkText(t *testing.T, text string, says []string) {
	t.Helper()
	for _, want := range says {
		if !strings.Contains(text, want) {
			t.Errorf("error %q lacks %q", text, want)
		}
	}
	if len(text) > 2000 {
		t.Errorf("error has %d bytes: %.200s", len(text), text)
	}
	if text == "" || unicode.IsUpper(rune(text[0])) || strings.Contains(text, "failed to") {
		t.Errorf("error %q is no sentence of this project", text)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// more are the settings of an ordinary run, whose backend nothing ever reaches, and more flags. DIR is
// the fixture's directory.
func more(flags ...string) func(*fixture) []string {
	return only(append([]string{"--backend-config", "address=http://127.0.0.1:9/state"}, flags...)...)
}

// only are flags in place of the settings of an ordinary run.
func only(flags ...string) func(*fixture) []string {
	return func(f *fixture) []string {
		replaced := make([]string, len(flags))
		for i, flag := range flags {
			replaced[i] = strings.ReplaceAll(flag, "DIR", f.dir)
		}
		return replaced
	}
}

// file prepares one file, below the fixture's directory.
func file(name, text string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) { overwrite(t, filepath.Join(f.dir, name), text) }
}
