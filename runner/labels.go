package runner

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// labels are what the kubernetes backend stamps on a state's Secrets, and finds them by. The setting is an
// HCL map.
func (b *backend) labels() (map[string]string, error) {
	text := b.settings["labels"]
	if text == "" {
		return nil, nil
	}
	expression, diags := hclsyntax.ParseExpression([]byte(text), "labels", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, usagef("--backend-config: labels is no map of strings: %s", diags[0].Summary)
	}
	value, diags := expression.Value(nil)
	if diags.HasErrors() {
		return nil, usagef("--backend-config: labels is no map of strings: %s", diags[0].Summary)
	}
	value, err := convert.Convert(value, cty.Map(cty.String))
	if err != nil || !value.IsWhollyKnown() || value.IsNull() {
		return nil, usagef("--backend-config: labels is no map of strings")
	}
	labels := map[string]string{}
	for key, element := range value.AsValueMap() {
		if element.IsNull() {
			return nil, usagef("--backend-config: label %s is null", key)
		}
		labels[key] = element.AsString()
	}
	return labels, nil
}
