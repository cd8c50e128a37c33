package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsAreDocumented wants the page of each command to have every flag that it has besides kubectl's. That of launch
// is held to it by the tests of docs.
func TestFlagsAreDocumented(t *testing.T) {
	a := &app{name: "captf", streams: streams{nil, io.Discard, io.Discard}, flags: newConfigFlags()}
	root := a.newRootCommand()
	found := wantDocumented(t, root, "captf.md", "image", "launch")
	image, _, err := root.Find([]string{"image"})
	if err != nil {
		t.Fatal(err)
	}
	found += wantDocumented(t, image, "images.md")
	if found < 20 {
		t.Errorf("only %d flags were found", found)
	}
}

func wantDocumented(t *testing.T, c *cobra.Command, page string, but ...string) (found int) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		found++
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		if !regexp.MustCompile(regexp.QuoteMeta(name) + "[^a-z-]").Match(text) {
			t.Errorf("%s: docs/%s has no %s", c.CommandPath(), page, name)
		}
	})
	for _, sub := range c.Commands() {
		if !slices.Contains(but, sub.Name()) {
			found += wantDocumented(t, sub, page)
		}
	}
	return found
}
