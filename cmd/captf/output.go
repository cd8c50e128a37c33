package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/captf/captf-runner/internal/table"
)

// output are the flags -o and --no-headers.
type output struct {
	format    string
	formats   []string
	noHeaders bool
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

// listFlags adds -o, and --no-headers for a command that prints a list.
func (o *output) listFlags(c *cobra.Command, more ...string) {
	o.flags(c, more...)
	c.Flags().BoolVar(&o.noHeaders, "no-headers", false, "print the table without its heading")
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

// fields writes names with their values.
func (a *app) fields(rows [][]string) error { return table.Write(a.streams.Out, nil, rows) }

// list writes rows under a heading. Of none it says so as kubectl does, where no program reads it.
func (a *app) list(o *output, heading []string, rows [][]string, none string) error {
	switch {
	case len(rows) == 0:
		fmt.Fprintln(a.streams.ErrOut, none)
		return nil
	case o.noHeaders:
		heading = nil
	}
	return table.Write(a.streams.Out, heading, rows)
}
