package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/runner/explain"
)

func (a *app) newStateExplainCommand() *cobra.Command {
	flags, out := &sourceFlags{}, &output{}
	c := &cobra.Command{
		Use: "explain SOURCE", Short: "Explain what is in a state, without a sensitive value",
		Long: `Explain what is in a state: who wrote it, what its serial and lineage mean for the next write, its resources, where
its sensitive values are, and what to check before it is pushed, or something in it is moved or removed. No value of
the state is shown.

SOURCE is OBJECT, OBJECT@COPY with a serial or name that state backups lists, a file, - for standard input, or the
address of a state on a state server (http://HOST:PORT/states/NAME; credentials come from STATESRV_USERNAME and
STATESRV_PASSWORD, or TF_HTTP_USERNAME and TF_HTTP_PASSWORD). A file that is called like an object is ./KIND/NAME.`,
		Args: flags.args, ValidArgsFunction: a.completeSource(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.explain(c, flags, args)
			if err != nil {
				return err
			}
			return a.print(out, d, func() error { return d.WriteText(a.streams.Out) })
		},
	}
	flags.flags(c)
	out.flags(c)
	return c
}

func (a *app) explain(c *cobra.Command, flags *sourceFlags, args []string) (*explain.Document, error) {
	var doc io.ReadCloser
	var err error
	name := flags.suffix
	if name != "" {
		doc, err = a.openObject(c.Context(), flags, nil)
	} else {
		name = args[0]
		doc, err = a.open(c.Context(), flags, name)
	}
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	d, err := explain.Read(doc)
	if err != nil {
		return nil, named(name, err)
	}
	if flags.suffix != "" || isCurrent(name) {
		d.Current()
	}
	return d, nil
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (a *app) newStateDiffCommand() *cobra.Command {
	flags, out := &sourceFlags{}, &output{}
	c := &cobra.Command{
		Use: "diff SOURCE SOURCE", Short: "Compare two states, without a sensitive value",
		Long: `Compare two states: the resources that were added, removed, moved and changed, attributes and outputs, serial and
lineage. Values that are sensitive in either state are not shown. For SOURCE see state explain.`,
		Args: twoSources, ValidArgsFunction: a.completeSource(2),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.diff(c, flags, args[0], args[1])
			if err != nil {
				return err
			}
			return a.print(out, d, func() error { return d.WriteText(a.streams.Out) })
		},
	}
	out.flags(c)
	return c
}

func twoSources(c *cobra.Command, args []string) error {
	if err := exactArgs(2, "two SOURCEs")(c, args); err != nil {
		return err
	}
	if args[0] == "-" && args[1] == "-" {
		return usagef("standard input is one state: - is for one of the two")
	}
	return cmp.Or(checkSource(args[0]), checkSource(args[1]))
}

func (a *app) diff(c *cobra.Command, flags *sourceFlags, before, after string) (*explain.Difference, error) {
	first, err := a.open(c.Context(), flags, before)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	second, err := a.open(c.Context(), flags, after)
	if err != nil {
		return nil, err
	}
	defer second.Close()
	d, err := explain.Diff(first, second)
	return d, named(before+" and "+after, err)
}

// completeSource completes objects, and files where none fits, for a command that takes so many.
func (a *app) completeSource(n int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if names := a.objects(c.Context(), typed); len(names) > 0 {
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}
