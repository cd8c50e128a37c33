package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/captf/captf-runner/internal/buildinfo"
	"github.com/captf/captf-runner/runner/result"
)

// Set by the linker for a release; a plain `go build` takes them from the module and the checkout.
var (
	version = ""
	commit  = ""
)

func printVersion(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("captf-runner version", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	format := flags.String("o", "", "output format: json")
	err := flags.Parse(args)
	v := buildinfo.Of(version, commit)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
	case err != nil || flags.NArg() > 0 || *format != "" && *format != "json":
		fmt.Fprintln(stderr, "captf-runner version: the only argument is -o json")
		return result.ExitUsage
	case *format == "json":
		err = json.NewEncoder(stdout).Encode(v)
	default:
		_, err = fmt.Fprintf(stdout, "captf-runner %s (commit %s, %s)\n", v.Version, v.Commit, v.Go)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stderr, "captf-runner version: %v\n", err)
		return result.ExitFailed
	}
	return result.ExitDone
}
