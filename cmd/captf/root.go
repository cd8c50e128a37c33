package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/launch/cli"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// app is what all commands share.
type app struct {
	name    string // what a person types
	streams streams
	flags   *configFlags
	getenv  func(string) string
	now     func() time.Time
}

// streams are those of the process.
type streams struct {
	In          io.Reader
	Out, ErrOut io.Writer
}

// newRootCommand puts the commands together, each from a file of its own.
func (a *app) newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:         "captf",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: a.name},
		Short:       "Run Terraform or OpenTofu in Jobs; show and repair the states, locks and leases of their objects",
		Long: `Show and repair what is kept for an object whose Terraform or OpenTofu runs in Jobs: its state, the lock on
it, the leases of its Jobs, and copies to restore from. Begin with: ` + a.name + ` doctor OBJECT

OBJECT is KIND/NAME with KIND one of TerraformCluster (tc), TerraformMachine (tm) and TerraformMachinePool
(tmp); or NAME alone where only one object is called so; or the name of the state's Secret or lock Lease.

The flags of kubectl that choose a cluster and a user work here as well.

Exit codes: 0 done, 1 failed, refused, not there or not as it should be, 2 usage; launch has the runner's.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs, RunE: a.unknown,
	}
	root.SetIn(a.streams.In)
	root.SetOut(a.streams.Out)
	root.SetErr(a.streams.ErrOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	a.flags.addTo(root.PersistentFlags())
	a.completeNamespace(root)
	a.completeContext(root)
	root.AddCommand(
		a.newLaunchCommand(),
		a.newDoctorCommand(),
		a.newLockCommand(),
		a.newLeaseCommand(),
		a.newStateCommand(),
		a.newImageCommand(),
		a.newVersionCommand(),
	)
	return root
}

// group is a command that only has commands below it.
func (a *app) group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: a.unknown}
	c.AddCommand(commands...)
	return c
}

// unknown is for a command that has to be followed by another one.
func (a *app) unknown(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return usagef("there is no command %q; %s -h lists them", c.CommandPath()+" "+args[0], c.CommandPath())
}

// run runs one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.newRootCommand()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	return a.exit(c, err)
}

// exit tells of an error and returns the code for it.
func (a *app) exit(c *cobra.Command, err error) int {
	var usage usageError
	var launched cli.Exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(handled)):
		return exitFailed
	case errors.As(err, &launched):
		return a.exitLaunch(c, launched)
	case errors.As(err, &usage):
		fmt.Fprintf(a.streams.ErrOut, "%s: %s\nusage: %s\n", c.CommandPath(), table.Printable(err.Error()), c.UseLine())
		return exitUsage
	}
	fmt.Fprintf(a.streams.ErrOut, "%s: %s\n", c.CommandPath(), table.Printable(withAdvice(err, "docs/captf.md").Error()))
	return exitFailed
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// handled is an error that the person has been told of.
type handled struct{ error }

// exactArgs is for a command that takes the arguments that its usage line shows.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("want %s, and got %d arguments", what, len(args))
		}
		return nil
	}
}
