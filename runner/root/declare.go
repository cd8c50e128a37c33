package root

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// declarations are what one file declares.
type declarations struct {
	backend   *Backend
	cloud     *Location
	variables map[string]Variable
}

var (
	fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"},
		{Type: "variable", LabelNames: []string{"name"}},
	}}
	terraformSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}},
		{Type: "cloud"},
	}}
	variableSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "sensitive"},
		{Name: "type"},
		{Name: "default"},
	}}
)

// declarationsOf reads one file. whole is false when the file may declare more than was found.
func declarationsOf(path string) (d declarations, whole bool, err error) {
	d.variables = make(map[string]Variable)
	src, err := read(path)
	if unknown(err) {
		return d, false, err
	}
	if err != nil {
		return d, false, nil
	}
	name := filepath.Base(path)
	body, diags := parse(src, name)
	content, _, more := body.PartialContent(fileSchema)
	diags = append(diags, more...)
	for _, block := range content.Blocks {
		switch block.Type {
		case "terraform":
			diags = append(diags, d.addSettings(block.Body, name)...)
		case "variable":
			diags = append(diags, d.addVariable(block, src)...)
		}
	}
	return d, !diags.HasErrors(), nil
}

// parse returns the body of a file, as much of it as makes sense when there are errors.
func parse(src []byte, name string) (hcl.Body, hcl.Diagnostics) {
	parser := func() (*hcl.File, hcl.Diagnostics) { return hclsyntax.ParseConfig(src, name, hcl.InitialPos) }
	if isJSON(name) {
		parser = func() (*hcl.File, hcl.Diagnostics) { return json.Parse(src, name) }
	}
	f, diags := parser()
	if f == nil || f.Body == nil {
		return hcl.EmptyBody(), diags
	}
	return f.Body, diags
}

// addSettings reads a terraform block.
func (d *declarations) addSettings(body hcl.Body, file string) hcl.Diagnostics {
	content, _, diags := body.PartialContent(terraformSchema)
	for _, block := range content.Blocks {
		where := Location{File: file, Line: block.DefRange.Start.Line}
		switch {
		case block.Type == "backend" && d.backend == nil:
			d.backend = &Backend{Type: block.Labels[0], Path: literal(block.Body, "path"), Location: where}
		case block.Type == "cloud" && d.cloud == nil:
			d.cloud = &where
		}
	}
	return diags
}

// literal is the text of an attribute, empty when there is none, or no plain text.
func literal(body hcl.Body, name string) string {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
	a := content.Attributes[name]
	if a == nil {
		return ""
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || !v.IsWhollyKnown() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

func (d *declarations) addVariable(block *hcl.Block, src []byte) hcl.Diagnostics {
	content, _, diags := block.Body.PartialContent(variableSchema)
	v := d.variables[block.Labels[0]]
	if a := content.Attributes["sensitive"]; a != nil && !plainlyFalse(a.Expr) {
		v.Sensitive = true
	}
	if a := content.Attributes["type"]; a != nil {
		v.Type = typeText(a.Expr, src)
	}
	if a := content.Attributes["default"]; a != nil {
		v.Default = leaves(a.Expr)
	}
	d.variables[block.Labels[0]] = v
	return diags
}

// plainlyFalse reports whether e is false, "false" or null, the ways to say that a variable is
// not sensitive.
func plainlyFalse(e hcl.Expression) bool {
	v, diags := e.Value(nil)
	switch {
	case diags.HasErrors() || !v.IsKnown():
		return false
	case v.IsNull():
		return true
	}
	switch v.Type().FriendlyName() {
	case "bool":
		return v.False()
	case "string":
		return v.AsString() == "false"
	}
	return false
}

// typeText is a type constraint as it is written: an expression, or in JSON a string that
// holds one.
func typeText(e hcl.Expression, src []byte) string {
	if v, diags := e.Value(nil); !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type().FriendlyName() == "string" {
		return v.AsString()
	}
	if r := e.Range(); r.CanSliceBytes(src) {
		return string(r.SliceBytes(src))
	}
	return ""
}
