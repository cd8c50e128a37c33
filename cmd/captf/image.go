package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/image"
)

func (a *app) newImageCommand() *cobra.Command {
	return a.group("image", "Check module images", a.newImageCheckCommand())
}

func (a *app) newImageCheckCommand() *cobra.Command {
	out, options, run := &output{}, image.Options{}, true
	c := &cobra.Command{
		Use:   "check REF|ARCHIVE|DIR",
		Short: "Tell whether Jobs can run with a module image",
		Long: `Tell whether Jobs can run with a module image: its layout, its runtime, its module, a mirror with every
provider that the module needs, its user and its labels. No container engine is needed.

The image is a reference in a registry (with the credentials of docker login), an archive as docker save
writes it or an OCI archive, or a folder with an OCI layout.

The runtime of this machine's platform is started, outside of any container, and asked for its version; --run=false
leaves that out, for an image that is not trusted.

Exit codes: 0 good, 1 not good or not readable, 2 usage.`,
		Example: "  captf image check registry.example/modules/network:1.4\n  docker save IMAGE -o image.tar && captf image check image.tar",
		Args:    exactArgs(1, "one image"),
		RunE: func(c *cobra.Command, args []string) error {
			scratch, err := os.MkdirTemp("", "captf-image-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(scratch)
			options.Scratch = scratch
			opened, err := image.Open(c.Context(), args[0], options)
			if err != nil {
				return serverError{err} // a registry is no cluster
			}
			return a.printFindings(out, opened.Check(c.Context(), run))
		},
	}
	out.flags(c)
	c.Flags().StringVar(&options.Platform, "platform", "", "the `OS/ARCH` that the image has to be for (default: any; of an index this machine's)")
	c.Flags().StringVar(&options.Name, "name", "", "the `name` of the image, in an archive or folder of several")
	c.Flags().BoolVar(&run, "run", run, "start the image's runtime on this machine")
	return c
}

// printFindings ends in an error when Jobs would fail.
func (a *app) printFindings(out *output, findings []image.Finding) error {
	err := a.print(out, findings, func() error {
		var rows [][]string
		for _, f := range findings {
			rows = append(rows, []string{string(f.Level), f.Subject, f.Message})
		}
		return table.Write(a.streams.Out, []string{"RESULT", "SUBJECT", "FINDING"}, rows)
	})
	if err == nil && image.Failed(findings) {
		fmt.Fprintln(a.streams.ErrOut, "Jobs with this image fail.")
		err = handled{errors.New("the image is not good")}
	}
	return err
}
