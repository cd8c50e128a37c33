package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/internal/buildinfo"
)

// Set by the linker for a release; a plain go build takes them from the module and the checkout.
var (
	version = ""
	commit  = ""
)

func (a *app) newVersionCommand() *cobra.Command {
	out := &output{}
	c := &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: exactArgs(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v := buildinfo.Of(version, commit)
			return a.print(out, v, func() error {
				_, err := fmt.Fprintf(a.streams.Out, "captf %s (commit %s, %s)\n", v.Version, v.Commit, v.Go)
				return err
			})
		},
	}
	out.flags(c)
	return c
}
