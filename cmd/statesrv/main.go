// Command statesrv is a state server for the "http" backend of OpenTofu and
// Terraform, and its own client. Package cli is its manual.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/captf/captf-runner/runner/statesrv/cli"
)

// version is set by the linker.
var version = "dev"

// diskThreads is how many threads run Go code at least. By default there is one for each processor, and one that waits
// for an fsync gives its place to another only after up to 10 ms: with two processors, two slow writes hold up all others.
const diskThreads = 8

func main() {
	runtime.GOMAXPROCS(max(diskThreads, runtime.GOMAXPROCS(0)))
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.NewApp(version).Run(ctx, os.Args[1:])
}
