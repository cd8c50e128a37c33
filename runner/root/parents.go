package root

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Parents returns how many directory levels above dir the module there refers to with ../ in
// the strings of its configuration files: 2 when source = "../../modules/a". That many parents
// must be at hand wherever the module is copied to. 0 is a module that needs nothing outside.
//
// All directories below dir are searched but .terraform, .git and .captf, and no link is
// followed. A module's source and ${path.module} are relative to the directory of the file,
// any other string to dir, where the runtime runs. A value that is only known later counts as
// one directory name, or as dir when a path begins with it. More levels than dir has parents
// are as many as it has. What the modules outside refer to is not looked at.
func Parents(dir string) (int, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	levels := 0
	err = filepath.WalkDir(abs, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != abs && skipped(d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular() && IsConfig(d.Name()):
			up, err := parentsOf(path, depth(abs, path))
			levels = max(levels, up)
			return err
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return min(levels, parentCount(abs)), nil
}

func parentCount(dir string) int {
	n := 0
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		n++
	}
	return n
}

func skipped(name string) bool {
	return name == ".terraform" || name == ".git" || name == ".captf"
}

// depth is how many directories are between dir and the file at path below it.
func depth(dir, path string) int {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator))
}

// parentsOf looks at one file, as far as it can be read.
func parentsOf(path string, depth int) (int, error) {
	src, err := read(path)
	if unknown(err) {
		return 0, err
	}
	if err != nil || !bytes.Contains(src, []byte("..")) {
		return 0, nil
	}
	refs := references{depth: depth}
	if isJSON(path) {
		var tree any
		if json.Unmarshal(src, &tree) == nil {
			refs.addJSON(tree, nil)
		}
		return refs.levels, nil
	}
	if body, ok := native(src, path); ok {
		refs.addBody(body)
	}
	return refs.levels, nil
}

func native(src []byte, path string) (*hclsyntax.Body, bool) {
	body, _ := parse(src, filepath.Base(path))
	b, ok := body.(*hclsyntax.Body)
	return b, ok
}

// references collects the highest level that the strings of a file refer to.
type references struct {
	depth  int // of the file's directory below the module
	levels int
}

func (r *references) addBody(body *hclsyntax.Body) {
	sources := make(map[hclsyntax.Node]bool)
	for _, block := range body.Blocks {
		if source := block.Body.Attributes["source"]; block.Type == "module" && source != nil {
			sources[source.Expr] = true
		}
	}
	r.addNode(body, func(n hclsyntax.Node) bool { return sources[n] })
}

func (r *references) addNode(node hclsyntax.Node, isSource func(hclsyntax.Node) bool) {
	hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if t, ok := n.(*hclsyntax.TemplateExpr); ok {
			r.addText(pathText(t), isSource(n))
		}
		return nil
	})
}

// addJSON walks the value that is found under the keys of path; arrays, which HCL allows around
// every block, add nothing to it.
func (r *references) addJSON(value any, path []string) {
	switch v := value.(type) {
	case string:
		r.addTemplate(v, len(path) == 3 && path[0] == "module" && path[2] == "source")
	case []any:
		for _, e := range v {
			r.addJSON(e, path)
		}
	case map[string]any:
		for key, e := range v {
			r.addJSON(e, append(path[:len(path):len(path)], key))
		}
	}
}

func (r *references) addTemplate(s string, isSource bool) {
	expr, diags := hclsyntax.ParseTemplate([]byte(s), "", hcl.InitialPos)
	if diags.HasErrors() {
		r.addText(s, isSource)
		return
	}
	r.addNode(expr, func(hclsyntax.Node) bool { return isSource })
}
