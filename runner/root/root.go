// Package root looks at the configuration files of a module before a runtime does: which backend
// it declares, which of its variables are secret, whether it is a module at all
// (spec/runner.md, "Preparation").
//
// It is not a validator. A file that it cannot make out is named in [Module.Broken] and the rest
// is still read: the runtime explains what is wrong with a file better than this package could,
// but a caller must know that such a file may hide a backend.
//
// Start with [Scan], and with [Override] for a module that declares no backend.
package root

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Module is what the top-level configuration files of a directory declare.
type Module struct {
	// Files are the names of the files that were read, sorted.
	Files []string
	// Broken are those of Files that could not be read whole: no regular file, larger than
	// 1 MiB, nested absurdly deep, or with errors. What was found in them counts all the same,
	// but they may declare more.
	Broken []string
	// Backend is the backend block, nil without one. When several files declare one, which
	// the runtimes refuse, it is the first.
	Backend *Backend
	// Cloud is where the cloud block is, nil without one.
	Cloud *Location
	// Variables are the declared input variables by name.
	Variables map[string]Variable
}

// Backend is a declared backend.
type Backend struct {
	Type string // "kubernetes", "http", …
	Path string // what it sets as its path, if that is plain text
	Location
}

// Location is a place in a configuration file.
type Location struct {
	File string // its name in the module's directory
	Line int    // from 1
}

// Variable is a declared input variable.
type Variable struct {
	// Sensitive is true also when the declaration says something that is not plainly false.
	Sensitive bool
	// Type is the type constraint as it is written, "" without one.
	Type string
	// Default are the strings and numbers in the default value, at any depth.
	Default []string
}

// Scan reads the configuration files at the top level of dir as OpenTofu does: a .tofu file
// takes the place of the .tf file of the same name. An override file's backend or cloud block
// takes the place of any other. The error is about dir itself, or about a disk that failed.
func Scan(dir string) (*Module, error) { return scan(dir, openTofu) }

// ScanTerraform reads dir as Terraform does, which ignores .tofu files: a backend that only
// these declare does not exist for it.
func ScanTerraform(dir string) (*Module, error) { return scan(dir, terraform) }

func scan(dir string, reads dialect) (*Module, error) {
	names, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("root module: %w", err)
	}
	names = reads(names)
	m := &Module{Files: names, Variables: make(map[string]Variable)}
	found := make(map[string]declarations, len(names))
	for _, name := range names {
		d, whole, err := declarationsOf(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("root module: %w", err)
		}
		found[name] = d
		if !whole {
			m.Broken = append(m.Broken, name)
		}
	}
	for _, name := range names {
		if !isOverride(name) {
			m.add(found[name])
		}
	}
	for _, name := range names {
		if isOverride(name) {
			m.override(found[name])
		}
	}
	return m, nil
}

// add takes over what an ordinary file declares.
func (m *Module) add(d declarations) {
	if m.Backend == nil {
		m.Backend = d.backend
	}
	if m.Cloud == nil {
		m.Cloud = d.cloud
	}
	m.addVariables(d.variables)
}

// override takes over what an override file declares. A backend and a cloud block take each
// other's place, in this order when one file has both.
func (m *Module) override(d declarations) {
	if d.backend != nil {
		m.Backend, m.Cloud = d.backend, nil
	}
	if d.cloud != nil {
		m.Backend, m.Cloud = nil, d.cloud
	}
	m.addVariables(d.variables)
}

// addVariables merges declarations of one variable so that it stays sensitive once it is.
func (m *Module) addVariables(variables map[string]Variable) {
	for name, v := range variables {
		known := m.Variables[name]
		v.Sensitive = v.Sensitive || known.Sensitive
		v.Default = slices.Concat(known.Default, v.Default) // whichever counts, neither may be shown
		if v.Type == "" {
			v.Type = known.Type
		}
		m.Variables[name] = v
	}
}
