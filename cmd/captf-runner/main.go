// Command captf-runner is the command of a Job: it runs one operation of tofu or terraform on one
// state. See the README for a first run and `captf-runner run -h` for the flags.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/captf/captf-runner/runner/result"
)

// gcPercent keeps the runner small beside its child, whose memory limit it shares: what it reads of a long output is
// garbage at once.
const gcPercent = 50

func main() {
	debug.SetGCPercent(gcPercent)
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is main with everything that it takes from the process.
func run(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return result.ExitUsage
	}
	switch command, args := args[0], args[1:]; {
	case command == "run":
		return runOperation(args, environ, stdout, stderr)
	case command == "copy":
		return copySelf(args, stdout, stderr)
	case command == "version":
		return printVersion(args, stdout, stderr)
	case command == "help" || isHelp(command):
		fmt.Fprint(stdout, usage)
		return result.ExitDone
	default:
		fmt.Fprintf(stderr, "captf-runner: unknown command %q\n%s", command, usage)
		return result.ExitUsage
	}
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

const usage = `usage: captf-runner COMMAND

  run --op OP [flags]  run one operation: apply, destroy, refresh, drift, plan or restore
  copy DEST            put this executable at DEST, mode 0755, atomically
  version [-o json]    version, commit and Go version

captf-runner run -h lists the flags. Exit codes: 0 done, 1 failed and will fail again,
2 usage, 3 try again later, 4 a person is needed.
`
