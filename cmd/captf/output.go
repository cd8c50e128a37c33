package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/captf/captf-runner/internal/table"
)

// output is the flag -o.
type output struct {
	format  string
	formats []string
}

const (
	asJSON = "json"
	asYAML = "yaml"
	asWide = "wide"
)

// flags adds -o. more are formats besides JSON and YAML.
func (o *output) flags(c *cobra.Command, more ...string) {
	o.formats = append([]string{asJSON, asYAML}, more...)
	c.Flags().StringVarP(&o.format, "output", "o", "", "output format: "+strings.Join(o.formats, ", ")+"; for people when it is empty")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	c.PreRunE = func(*cobra.Command, []string) error {
		if o.format != "" && !slices.Contains(o.formats, o.format) {
			return usagef("-o %q: want one of %s", o.format, strings.Join(o.formats, ", "))
		}
		return nil
	}
}

func (o *output) wide() bool { return o.format == asWide }

// print writes v for a program, or calls people for one.
func (a *app) print(o *output, v any, people func() error) error {
	switch o.format {
	case asJSON:
		e := json.NewEncoder(a.streams.Out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "    ")
		return e.Encode(v)
	case asYAML:
		text, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = a.streams.Out.Write(text)
		return err
	}
	return people()
}

// table writes rows under a heading.
func (a *app) table(heading []string, rows [][]string) error {
	return table.Write(a.streams.Out, heading, rows)
}
