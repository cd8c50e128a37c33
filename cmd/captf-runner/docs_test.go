package main

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf/captf-runner/runner"
)

// TestPageHasEveryFlag compares the flags and their defaults with the table that documents them: their names are a
// contract.
func TestPageHasEveryFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/runner.md")
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, row := range flagRow.FindAllStringSubmatch(string(page), -1) {
		for _, name := range flagName.FindAllStringSubmatch(row[1], -1) {
			got[name[1]] = row[2]
		}
	}
	newFlags(&runner.Options{}).VisitAll(func(f *flag.Flag) {
		want[f.Name] = f.DefValue
		if value := got[f.Name]; value != "" && f.Value.Set(value) == nil {
			got[f.Name] = f.Value.String() // 60s is 1m0s
		} else if f.DefValue == "0" || f.DefValue == "0s" || f.DefValue == "false" {
			want[f.Name] = ""
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/runner.md does not list the flags and defaults as they are (-code +page)\n%s", diff)
	}
}

var (
	flagRow  = regexp.MustCompile("(?m)^\\| ((?:`--[a-z-]+`(?:, )?)+) \\| (?:`([^`]*)` )?\\|")
	flagName = regexp.MustCompile("`--([a-z-]+)`")
)
