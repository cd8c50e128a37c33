package image

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf/captf-runner/runner/root"
)

// requirement is one provider that the module needs.
type requirement struct {
	source      string   // host/namespace/type
	constraints []string // of all the modules together
	locked      string   // the version in the lock file, if it is there
}

// registries are where a source without a host comes from.
var registries = map[string]string{OpenTofu: "registry.opentofu.org", Terraform: "registry.terraform.io"}

// builtIn is the provider that is part of both runtimes.
const builtIn = "terraform"

// requirements are the providers of a module and of the modules that it calls by a path, sorted by source. kind
// decides the default registry; it may be empty.
func requirements(dir, kind string) ([]requirement, error) {
	r := reader{kind: kind, found: map[string]*requirement{}, seen: map[string]bool{}}
	if err := r.module(dir, dir); err != nil {
		return nil, err
	}
	if err := r.lockFile(filepath.Join(dir, ".terraform.lock.hcl")); err != nil {
		return nil, err
	}
	var all []requirement
	for _, one := range r.found {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b requirement) int { return strings.Compare(a.source, b.source) })
	return all, nil
}

// reader collects them.
type reader struct {
	kind  string
	found map[string]*requirement
	seen  map[string]bool
}

func (r *reader) add(source string) *requirement {
	source = r.full(source)
	if r.found[source] == nil {
		r.found[source] = &requirement{source: source}
	}
	return r.found[source]
}

// full completes a source: "aws" is hashicorp/aws of the runtime's registry.
func (r *reader) full(source string) string {
	parts := strings.Split(strings.ToLower(source), "/")
	if len(parts) == 1 {
		parts = append([]string{"hashicorp"}, parts...)
	}
	if len(parts) == 2 {
		host := registries[r.kind]
		if host == "" {
			host = registries[OpenTofu]
		}
		parts = append([]string{host}, parts...)
	}
	return strings.Join(parts, "/")
}

var (
	moduleSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"}, {Type: "provider", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}},
		{Type: "resource", LabelNames: []string{"type", "name"}}, {Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	}}
	terraformSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}}}
	callSchema      = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}}
	resourceSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "provider"}}}
)

// module reads one module; top is the folder that paths must not leave.
func (r *reader) module(dir, top string) error {
	if r.seen[dir] {
		return nil
	}
	r.seen[dir] = true
	bodies, err := parseModule(dir)
	if err != nil {
		return err
	}
	locals := map[string]bool{} // the names that required_providers declares
	var used []string
	for _, body := range bodies {
		content, _, _ := body.PartialContent(moduleSchema)
		for _, block := range content.Blocks {
			switch block.Type {
			case "terraform":
				r.required(block.Body, locals)
			case "module":
				if source := text(block.Body, callSchema, "source"); strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") {
					if err := r.call(filepath.Join(dir, source), top); err != nil {
						return err
					}
				}
			case "provider":
				used = append(used, block.Labels[0])
			default:
				used = append(used, usedBy(block))
			}
		}
	}
	for _, name := range used {
		if !locals[name] && name != builtIn {
			r.add(name)
		}
	}
	return nil
}

func (r *reader) call(dir, top string) error {
	if rel, err := filepath.Rel(top, dir); err != nil || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("the module calls %s, which is outside of it", path.Base(dir))
	}
	return r.module(dir, top)
}

// usedBy is the local name of a resource's provider.
func usedBy(block *hcl.Block) string {
	content, _, _ := block.Body.PartialContent(resourceSchema)
	if attr := content.Attributes["provider"]; attr != nil {
		if traversal, diags := hcl.AbsTraversalForExpr(attr.Expr); !diags.HasErrors() {
			return traversal.RootName()
		}
	}
	name, _, _ := strings.Cut(block.Labels[0], "_")
	return name
}

// required reads required_providers.
func (r *reader) required(body hcl.Body, locals map[string]bool) {
	content, _, _ := body.PartialContent(terraformSchema)
	for _, block := range content.Blocks {
		attributes, _ := block.Body.JustAttributes()
		for name, attr := range attributes {
			locals[name] = true
			source, constraint := name, ""
			pairs, diags := hcl.ExprMap(attr.Expr)
			if diags.HasErrors() { // the old form: a version alone
				constraint = literal(attr.Expr)
			}
			for _, pair := range pairs {
				switch key := hcl.ExprAsKeyword(pair.Key); {
				case key == "source" || literal(pair.Key) == "source":
					source = literal(pair.Value)
				case key == "version" || literal(pair.Key) == "version":
					constraint = literal(pair.Value)
				}
			}
			if strings.HasPrefix(source, "terraform.io/builtin/") {
				continue
			}
			one := r.add(source)
			if constraint != "" {
				one.constraints = append(one.constraints, constraint)
			}
		}
	}
}

// lockFile adds the versions that init has chosen, where the module has a lock file.
func (r *reader) lockFile(path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	file, diags := hclparse.NewParser().ParseHCLFile(path)
	if diags.HasErrors() {
		return diags
	}
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"source"}}}})
	for _, block := range content.Blocks {
		version := text(block.Body, &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "version"}}}, "version")
		if one := r.found[r.full(block.Labels[0])]; one != nil {
			one.locked = version
		}
	}
	return nil
}

// parseModule parses the files at the top level of a folder.
func parseModule(dir string) (bodies []hcl.Body, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	parser := hclparse.NewParser()
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		var file *hcl.File
		var diags hcl.Diagnostics
		switch {
		case e.IsDir() || !root.IsConfig(e.Name()):
			continue
		case strings.HasSuffix(name, ".json"):
			file, diags = parser.ParseJSONFile(name)
		default:
			file, diags = parser.ParseHCLFile(name)
		}
		if diags.HasErrors() {
			return nil, fmt.Errorf("parse %s: %w", e.Name(), diags)
		}
		bodies = append(bodies, file.Body)
	}
	return bodies, nil
}

// text is the value of an attribute that is a plain string, else empty.
func text(body hcl.Body, schema *hcl.BodySchema, name string) string {
	content, _, _ := body.PartialContent(schema)
	if attr := content.Attributes[name]; attr != nil {
		return literal(attr.Expr)
	}
	return ""
}

func literal(e hcl.Expression) string {
	value, diags := e.Value(nil)
	if diags.HasErrors() || value.IsNull() || !value.IsWhollyKnown() || value.Type() != cty.String {
		return ""
	}
	return value.AsString()
}
