package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/root"
)

// maxFile bounds one file of the root, in bytes: a Secret holds as much altogether.
const maxFile = 1 << 20

// files are the root's, and the names of those that are variable files.
func (o *options) files() (files map[string][]byte, varFiles []string, err error) {
	files = map[string][]byte{}
	var variables []string
	for i, path := range o.varFiles {
		content, err := readFile(path)
		var names []string
		if err == nil {
			names, err = variableNames(path, content)
		}
		if err != nil {
			return nil, nil, unread("--var-file", err)
		}
		name := fmt.Sprintf("var-%d.tfvars", i)
		if strings.HasSuffix(path, ".json") {
			name += ".json"
		}
		files[name] = content
		varFiles, variables = append(varFiles, name), append(variables, names...)
	}
	if o.dir != "" {
		return files, varFiles, addRoot(files, o.dir)
	}
	files["main.tf.json"], err = o.callingRoot(variables)
	return files, varFiles, err
}

// unread is the error of a file that a flag names. That too many are open is no fault of the command line.
func unread(flag string, err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%s: %w: raise the limit, ulimit -n", flag, err)
	}
	return usagef("%s: %w", flag, err)
}

// addRoot adds the regular files of a directory, as the runner would read them.
func addRoot(files map[string][]byte, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return unread("-f", err)
	}
	configured := false
	for _, entry := range entries {
		name := entry.Name()
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return unread("-f", err)
		}
		if strings.HasPrefix(name, ".") || !info.Mode().IsRegular() {
			continue
		}
		if len(validation.IsConfigMapKey(name)) > 0 {
			return usagef("-f: a Secret cannot hold the file %q: use letters, digits, '-', '_' and '.' only", name)
		}
		if files[name], err = readFile(filepath.Join(dir, name)); err != nil {
			return unread("-f", err)
		}
		configured = configured || root.IsConfig(name)
	}
	if !configured {
		return usagef("-f %s: it has no .tf, .tf.json, .tofu or .tofu.json file", dir)
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("%s has %d bytes, which is more than a Secret holds", path, info.Size())
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// callingRoot is a root that calls the module in the image with variables of these names. The outputs that were not named
// are kept as one sensitive value: only the image knows what they are called.
func (o *options) callingRoot(names []string) ([]byte, error) {
	call := map[string]any{"source": o.module}
	if o.module == "" {
		call["source"] = naming.ModulePath
	}
	variables := map[string]any{}
	for _, v := range names {
		variables[v] = map[string]any{}
		call[v] = "${var." + v + "}"
	}
	root := map[string]any{
		"terraform": map[string]any{"backend": map[string]any{"kubernetes": map[string]any{}}},
		"module":    map[string]any{"this": call},
	}
	if len(variables) > 0 {
		root["variable"] = variables
	}
	outputs := map[string]any{}
	for _, name := range o.outputs {
		outputs[name] = map[string]any{"value": "${module.this." + name + "}"}
	}
	if len(outputs) == 0 {
		outputs["module"] = map[string]any{"value": "${module.this}", "sensitive": true}
	}
	root["output"] = outputs
	return json.MarshalIndent(root, "", "  ")
}

// variableNames are those that a file of variables sets.
func variableNames(path string, content []byte) ([]string, error) {
	if strings.HasSuffix(path, ".json") {
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(content, &doc); err != nil {
			return nil, fmt.Errorf("%s is not a JSON object: %w", path, err)
		}
		return slices.Collect(maps.Keys(doc)), nil
	}
	file, diags := hclsyntax.ParseConfig(content, path, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	attributes, diags := file.Body.JustAttributes()
	if diags.HasErrors() {
		return nil, diags
	}
	return slices.Collect(maps.Keys(attributes)), nil
}
