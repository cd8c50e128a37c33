package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf/captf-runner/runner/redact"
)

// collectVariables finds the variable files of the run, and keeps the values of sensitive variables
// out of all that is printed.
func (r *run) collectVariables() error {
	r.varFiles = nil
	if _, err := os.Stat(filepath.Join(r.work.root, varFile)); err == nil {
		r.varFiles = append(r.varFiles, varFile)
	}
	r.varFiles = append(r.varFiles, r.opts.VarFiles...)
	for _, file := range r.varFiles {
		path := file
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.work.root, path)
		}
		if err := r.redactVariables(path); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) redactVariables(path string) error {
	if !strings.HasSuffix(path, ".json") {
		return nil // a plan names the sensitive values of the others
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("variables: %w", err)
	}
	sensitive := func(name string) bool {
		return redact.SecretName(name) || r.module.Variables[name].Sensitive
	}
	r.redact.Add(redact.FromVariables(data, sensitive)...)
	return nil
}
