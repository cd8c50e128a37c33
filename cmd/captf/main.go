// Command captf shows and repairs what is kept for an object in its cluster: its state, the lock on it,
// the leases of its Jobs, and copies to restore from. As kubectl-captf it is a plugin of kubectl.
//
// Exit codes: 0 for success, 1 when something failed, was refused, is not there or is not as it should be, 2 for a
// command line that cannot be understood. docs/captf.md has them for each command.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args))
}

func run(ctx context.Context, args []string) int {
	a := &app{
		name:    displayName(args[0]),
		streams: streams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		flags:   newConfigFlags(),
		getenv:  os.Getenv,
		now:     time.Now,
	}
	return a.run(ctx, args[1:])
}

// displayName is what a person types: kubectl starts its plugin kubectl-captf as "kubectl captf".
func displayName(program string) string {
	if strings.HasPrefix(filepath.Base(program), "kubectl-") {
		return "kubectl captf"
	}
	return "captf"
}
