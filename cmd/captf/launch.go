package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/launch/cli"
	"github.com/captf/captf-runner/runner/result"
)

// newLaunchCommand has signals of its own: they ask whether the Job is to stop, too.
func (a *app) newLaunchCommand() *cobra.Command {
	interrupts := make(chan os.Signal, 4)
	c := cli.New(cli.Env{
		Name: func() string { return a.programs().captf }, In: a.streams.In, Out: a.streams.Out, Err: a.streams.ErrOut,
		Terminal:   isTerminal(a.streams.In) && isTerminal(a.streams.ErrOut),
		Interrupts: interrupts, Kind: parseKind,
		Connect: func() (kubernetes.Interface, string, error) {
			cl, err := a.connect()
			if err != nil {
				return nil, "", err
			}
			return cl.client, cl.namespace, nil
		},
	})
	c.PersistentPreRun = func(c *cobra.Command, _ []string) {
		signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
		c.SetContext(context.WithoutCancel(c.Context()))
	}
	return c
}

// exitLaunch has the exit codes of captf-runner run, which are not those of the other commands.
func (a *app) exitLaunch(c *cobra.Command, e cli.Exit) int {
	if e.Err != nil {
		fmt.Fprintf(a.streams.ErrOut, "%s: %s\n", c.CommandPath(), table.Printable(withAdvice(e.Err, "docs/launch.md").Error()))
	}
	if e.Code == result.ExitUsage {
		fmt.Fprintf(a.streams.ErrOut, "usage: %s\n", c.UseLine())
	}
	return e.Code
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
