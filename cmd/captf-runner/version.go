package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/captf/captf-runner/runner/result"
)

// Set by the linker for a release; a plain `go build` takes them from the module and the checkout.
var (
	version = ""
	commit  = ""
)

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func currentVersion() versionInfo {
	v := versionInfo{Version: version, Commit: commit, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if ok && v.Version == "" {
		v.Version = info.Main.Version
	}
	if ok && v.Commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	for _, field := range []*string{&v.Version, &v.Commit} {
		if *field == "" {
			*field = "unknown"
		}
	}
	return v
}

func printVersion(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("captf-runner version", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	format := flags.String("o", "", "output format: json")
	err := flags.Parse(args)
	v := currentVersion()
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
	case err != nil || flags.NArg() > 0 || *format != "" && *format != "json":
		fmt.Fprintln(stderr, "captf-runner version: the only argument is -o json")
		return result.ExitUsage
	case *format == "json":
		_ = json.NewEncoder(stdout).Encode(v)
	default:
		fmt.Fprintf(stdout, "captf-runner %s (commit %s, %s)\n", v.Version, v.Commit, v.Go)
	}
	return result.ExitDone
}
