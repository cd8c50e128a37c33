package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker for a release; a plain go build takes them from the module and the checkout.
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

func (a *app) newVersionCommand() *cobra.Command {
	out := &output{}
	c := &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: exactArgs(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			return a.print(out, v, func() error {
				_, err := fmt.Fprintf(a.streams.Out, "captf %s (commit %s, %s)\n", v.Version, v.Commit, v.Go)
				return err
			})
		},
	}
	out.flags(c)
	return c
}
