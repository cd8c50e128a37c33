package runner

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"k8s.io/apimachinery/pkg/util/validation"
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
		if err := checkLabel(key, labels[key]); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// checkLabel refuses what the API server would refuse, before anything runs.
func checkLabel(key, value string) error {
	if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
		return usagef("--backend-config: %q is no label key: %s", key, strings.Join(wrong, "; "))
	}
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
		return usagef("--backend-config: %q is no value for label %s: %s", value, key, strings.Join(wrong, "; "))
	}
	return nil
}
