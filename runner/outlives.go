package runner

import (
	"path/filepath"
	"strings"
)

// checkOutlives refuses a backend that keeps the state nowhere, or in the working directory, which the next run empties.
func (r *run) checkOutlives(kind string) error {
	path := r.backend.settings["path"]
	if b := r.inputs.module.Backend; b != nil && path == "" {
		path = b.Path
	}
	inside := !filepath.IsAbs(path) || strings.HasPrefix(filepath.Clean(path), r.work.dir+string(filepath.Separator))
	if kind == "inmem" || kind == "local" && inside {
		return usagef("root: backend %q would keep the state only as long as this run, and the next one would "+
			"make everything a second time: take another backend, or --local; "+
			"backend \"local\" needs an absolute path outside of --workdir", kind)
	}
	return nil
}
