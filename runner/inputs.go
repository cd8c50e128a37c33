package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf/captf-runner/runner/redact"
	"github.com/captf/captf-runner/runner/root"
)

// varFile is the variables file of a rendered root.
const varFile = "terraform.tfvars.json"

// inputs are what an operation works with, read before it runs.
type inputs struct {
	module   *root.Module // what the root declares
	varFiles []string     // for -var-file
	planKey  []byte       // of plan hashes; nil when none is told
}

// isAutoLoaded tells a variables file that a runtime reads without being told.
func isAutoLoaded(name string) bool {
	return name == "terraform.tfvars" || name == varFile || strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json")
}

// collectVariables finds the variables files of the run, and keeps the values of sensitive variables out of
// all that is printed.
func (r *run) collectVariables() error {
	if _, err := os.Stat(filepath.Join(r.work.root, varFile)); err == nil {
		r.inputs.varFiles = append(r.inputs.varFiles, varFile)
	}
	r.inputs.varFiles = append(r.inputs.varFiles, r.opts.VarFiles...)
	for name, variable := range r.inputs.module.Variables {
		if r.sensitive(name) {
			r.redact.Add(variable.Default...)
		}
	}
	found, err := listNamed(r.work.root, "", "")
	if err != nil {
		return fmt.Errorf("variables: %w", err)
	}
	files := slices.DeleteFunc(found, func(path string) bool { return !isAutoLoaded(filepath.Base(path)) })
	for _, file := range files {
		if err := r.redactFile(file); err != nil {
			return fmt.Errorf("variables: %w", err)
		}
	}
	for _, file := range r.opts.VarFiles {
		if err := r.redactFile(file); err != nil {
			return usagef("--var-file: %w: name a file that can be read more than once", err)
		}
	}
	return nil
}

// redactFile hides the sensitive values of one variables file.
func (r *run) redactFile(path string) error {
	if strings.HasSuffix(path, ".json") {
		data, err := os.ReadFile(path)
		r.redact.Add(redact.FromVariables(data, r.sensitive)...)
		return err
	}
	values, err := root.Values(path)
	for name, leaves := range values {
		if r.sensitive(name) {
			r.redact.Add(leaves...)
		}
	}
	return err
}

// sensitive tells whether a root variable's value is a secret: by its name, or because it is declared so.
func (r *run) sensitive(name string) bool {
	return redact.SecretName(name) || r.inputs.module.Variables[name].Sensitive
}
