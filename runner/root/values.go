package root

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Values returns the strings and numbers that a variables file in HCL syntax gives, at any depth, by the
// variable's name. Of a file that is broken it returns what can be made out; the error is about reading it, or
// says that it is too large to be parsed.
func Values(path string) (map[string][]string, error) {
	src, err := read(path)
	if err != nil {
		return nil, err
	}
	body, _ := parse(src, filepath.Base(path))
	attributes, _ := body.JustAttributes()
	values := make(map[string][]string, len(attributes))
	for name, attribute := range attributes {
		values[name] = leaves(attribute.Expr)
	}
	return values, nil
}

// leaves are the strings and numbers in a constant expression.
func leaves(e hcl.Expression) []string {
	value, _ := e.Value(nil)
	if value == cty.NilVal {
		return nil
	}
	var found []string
	_ = cty.Walk(value, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.IsNull() || !v.IsKnown() || !v.Type().IsPrimitiveType() || v.Type() == cty.Bool {
			return true, nil
		}
		if text, err := convert.Convert(v, cty.String); err == nil {
			found = append(found, text.AsString())
		}
		return true, nil
	})
	return found
}
