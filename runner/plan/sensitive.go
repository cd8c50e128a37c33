package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	tfjson "github.com/hashicorp/terraform-json"
)

// Sensitive lists the strings and numbers that p marks as sensitive, each once and sorted, for
// redaction: in resources and outputs before and after, in what was read before the plan, and
// in variables that are declared sensitive. Booleans are left out: no text can be searched for
// one. The list holds secrets in clear; it must not be logged.
func Sensitive(p *tfjson.Plan) []string {
	if p == nil {
		return nil
	}
	found := make(secrets)
	for _, rc := range slices.Concat(p.ResourceChanges, p.ResourceDrift) {
		found.addResource(rc)
	}
	for _, d := range p.DeferredChanges {
		if d != nil {
			found.addResource(d.ResourceChange)
		}
	}
	for _, c := range p.OutputChanges {
		found.addChange(c)
	}
	for _, a := range p.ActionInvocations {
		if a != nil {
			found.add(a.ConfigValues, a.ConfigSensitive)
		}
	}
	found.addVariables(p)
	found.addState(p.PlannedValues)
	if p.PriorState != nil {
		found.addState(p.PriorState.Values)
	}
	return slices.Sorted(maps.Keys(found))
}

// secrets is a set of texts.
type secrets map[string]bool

func (s secrets) addResource(rc *tfjson.ResourceChange) {
	if rc != nil {
		s.addChange(rc.Change)
	}
}

func (s secrets) addChange(c *tfjson.Change) {
	if c != nil {
		s.add(c.Before, c.BeforeSensitive)
		s.add(c.After, c.AfterSensitive)
	}
}

func (s secrets) addVariables(p *tfjson.Plan) {
	if p.Config == nil || p.Config.RootModule == nil {
		return
	}
	for name, declared := range p.Config.RootModule.Variables {
		if v := p.Variables[name]; v != nil && declared != nil && declared.Sensitive {
			s.addLeaves(v.Value)
		}
	}
}

// addState covers what resource changes do not have: data sources that were read while planning.
func (s secrets) addState(v *tfjson.StateValues) {
	if v == nil {
		return
	}
	for _, o := range v.Outputs {
		if o != nil && o.Sensitive {
			s.addLeaves(o.Value)
		}
	}
	s.addModule(v.RootModule)
}

func (s secrets) addModule(m *tfjson.StateModule) {
	if m == nil {
		return
	}
	for _, r := range m.Resources {
		var mask any
		if r == nil || json.Unmarshal(r.SensitiveValues, &mask) != nil {
			continue // no mask: nothing is marked
		}
		s.add(r.AttributeValues, mask)
	}
	for _, child := range m.ChildModules {
		s.addModule(child)
	}
}

// add collects the leaves of value that mask marks: mask has the shape of value, with true in
// the place of whatever is sensitive, a leaf or a whole tree.
func (s secrets) add(value, mask any) {
	switch mask := mask.(type) {
	case bool:
		if mask {
			s.addLeaves(value)
		}
	case map[string]any:
		if object, ok := value.(map[string]any); ok {
			for k, m := range mask {
				s.add(object[k], m)
			}
		}
	case []any:
		if list, ok := value.([]any); ok {
			for i := range min(len(list), len(mask)) {
				s.add(list[i], mask[i])
			}
		}
	}
}

func (s secrets) addLeaves(value any) {
	switch v := value.(type) {
	case string:
		if v != "" {
			s[v] = true
		}
	case json.Number:
		s[v.String()] = true
	case float64:
		s.addFloat(v)
	case []any:
		for _, e := range v {
			s.addLeaves(e)
		}
	case map[string]any:
		for _, e := range v {
			s.addLeaves(e)
		}
	}
}

// addFloat takes a number of the prior state, which terraform-json decodes without UseNumber
// whatever the plan was told. One that lost digits is left out: its text would be another's.
// Resource changes have it exactly, unless it came from a data source.
func (s secrets) addFloat(v float64) {
	const exact = 1 << 53
	if v > -exact && v < exact {
		s[strconv.FormatFloat(v, 'f', -1, 64)] = true
	}
}
