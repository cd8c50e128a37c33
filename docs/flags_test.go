package docs

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/captf/captf-runner/internal/tools"
	launchcli "github.com/captf/captf-runner/runner/launch/cli"
	statesrvcli "github.com/captf/captf-runner/runner/statesrv/cli"
)

// flag is one that a command shows with -h.
type flag struct {
	name  string // with its hyphens, as the pages write it
	value string // the default, empty for none
}

// TestFlagsOfLaunch wants docs/launch.md to have every flag of captf launch, each beside its default.
func TestFlagsOfLaunch(t *testing.T) {
	for _, c := range launchcli.New(launchcli.Env{}).Commands() {
		t.Run(c.Name(), func(t *testing.T) { wantFlags(t, "launch.md", launchFlags(c)) })
	}
}

func launchFlags(c *cobra.Command) (all []flag) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		value := strings.Trim(f.DefValue, "[]")
		if value == "false" {
			value = ""
		}
		if f.Value.Type() == "duration" { // 1h0m0s is written 1h
			value = strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(value)
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		all = append(all, flag{name, value})
	})
	return all
}

var (
	commandLine = regexp.MustCompile(`(?m)^  ([a-z-]+)`)
	flagLine    = regexp.MustCompile(`(?m)^  (-[a-z-]+).*\n?(?:    \t.*\(default "?([^")]*)"?\))?`)
)

// TestFlagsOfStatesrv wants the same of docs/statesrv.md.
func TestFlagsOfStatesrv(t *testing.T) {
	found := 0
	for _, command := range commandLine.FindAllStringSubmatch(statesrvHelp(t), -1) {
		var all []flag
		for _, f := range flagLine.FindAllStringSubmatch(statesrvHelp(t, command[1]), -1) {
			name := f[1]
			if len(name) > len("-x") {
				name = "-" + name
			}
			all = append(all, flag{name, f[2]})
		}
		found += len(all)
		t.Run(command[1], func(t *testing.T) { wantFlags(t, "statesrv.md", all) })
	}
	if found < 40 {
		t.Errorf("only %d options were found in the commands' own words", found)
	}
}

// statesrvHelp is what a command says with -h.
func statesrvHelp(t *testing.T, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	app := statesrvcli.App{Out: &out, Err: &out, Getenv: func(string) string { return "" }, Who: "USER@HOST"}
	if code := app.Run(t.Context(), append(command, "-h")); code != 0 {
		t.Fatalf("statesrv %v -h: exit code %d\n%s", command, code, &out)
	}
	return out.String()
}

// wantFlags wants a line of a page for each flag that has it, and its default, if there is one, as code.
func wantFlags(t *testing.T, page string, flags []flag) {
	t.Helper()
	all := lines(t, filepath.Join(tools.Root(t), "docs", page))
	for _, f := range flags {
		written := regexp.MustCompile("`[^`]*" + regexp.QuoteMeta(f.name) + "[^a-z-]")
		found := false
		for line := range strings.Lines(all) {
			found = found || written.MatchString(line) && (f.value == "" || strings.Contains(line, "`"+f.value+"`"))
		}
		if !found {
			t.Errorf("%s has no line with %s and its default %q", page, f.name, f.value)
		}
	}
}
