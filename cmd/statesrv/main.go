// Command statesrv is a state server for the "http" backend of OpenTofu and
// Terraform, and its own client. Package cli is its manual.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/captf/captf-runner/runner/statesrv/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.NewApp(version).Run(ctx, os.Args[1:])
}
