// Package buildinfo tells what a program was built from.
package buildinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Info is what `version -o json` prints.
type Info struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// Of takes what the linker has set for a release; what is empty comes from the module and the checkout, and is
// "unknown" if they do not tell.
func Of(version, commit string) Info {
	info, ok := debug.ReadBuildInfo()
	if ok {
		version = cmp.Or(version, info.Main.Version)
		commit = cmp.Or(commit, revision(info))
	}
	return Info{Version: cmp.Or(version, "unknown"), Commit: cmp.Or(commit, "unknown"), Go: runtime.Version()}
}

func revision(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
