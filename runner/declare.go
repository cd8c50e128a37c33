package runner

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf/captf-runner/runner/root"
)

// scanRoot reads the root's declarations. Which of the two runtimes will run is not known yet, so they must
// agree on where the state is.
func scanRoot(dir string) (*root.Module, error) {
	tofu, err := root.Scan(dir)
	if err != nil {
		return nil, fmt.Errorf("config: %w: %s", err, orMoreFiles(err, "try again"))
	}
	terraform, err := root.ScanTerraform(dir)
	if err != nil {
		return nil, fmt.Errorf("config: %w: %s", err, orMoreFiles(err, "try again"))
	}
	if backendType(tofu) != backendType(terraform) {
		return nil, usagef("root: its backend is declared in a .tofu file, which Terraform ignores: declare it in a .tf file")
	}
	return tofu, nil
}

func backendType(m *root.Module) string {
	switch {
	case m.Cloud != nil:
		return "cloud"
	case m.Backend != nil:
		return m.Backend.Type
	}
	return ""
}

// declareBackend makes sure that the root keeps its state where --backend (kind, or empty) or its own block
// say, and says what it had to do (empty: nothing). A root without a backend block would keep its state in the
// pod, and lose it: it gets the block of the kind, which only then the settings may tell.
func declareBackend(module *root.Module, dir, kind string, settings *backend) (declared, note string, err error) {
	if module.Cloud != nil {
		return "", "", usagef("root: %s declares a cloud block, which keeps the state elsewhere: remove it", module.Cloud.File)
	}
	if b := module.Backend; b != nil {
		if kind != "" && b.Type != kind {
			return "", "", wrongBackend(b.File, b.Type, kind)
		}
		return b.Type, "", settings.check(b.Type, b.File)
	}
	kind = cmp.Or(kind, settings.infer())
	switch {
	case len(module.Broken) > 0:
		return kind, "", nil // the runtime has the better message for a file that does not parse
	case kind == "":
		return "", "", usagef("root declares no backend and --backend-config names none: the state would be lost with the pod; give --backend and --backend-config, or --local")
	}
	if err := os.WriteFile(filepath.Join(dir, root.OverrideName), root.Override(kind), 0o600); err != nil {
		return "", "", fmt.Errorf("root: %w", err)
	}
	return kind, fmt.Sprintf("the root declares no backend: added %s, which declares backend %q", root.OverrideName, kind), nil
}

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
