package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/captf/captf-runner/internal/address"
	"github.com/captf/captf-runner/runner/redact"
)

// Read explains the state in r. The error is a *state.Error with the reason Corrupt when it is no state of
// version 4, or too large; or it is that of r.
func Read(r io.Reader) (*Document, error) {
	d := &Document{}
	known := redact.New()
	v := &visitor{
		resource: func(raw rawResource) error { return d.addResource(raw, known) },
		output:   func(name string, o rawOutput) { d.addOutput(name, o, known) },
	}
	if err := v.walk(r); err != nil {
		return nil, err
	}
	h := v.header
	d.Bytes, d.Digest = h.bytes, h.digest
	d.ToolVersion, d.Serial, d.Lineage, d.Encryption = h.tool, h.serial, h.lineage, h.encryption
	if h.version != nil {
		d.FormatVersion = *h.version
	}
	if d.Encryption == nil {
		d.finish(h, known)
	}
	d.NextWrite = d.nextWrite()
	d.Advice = d.advice()
	return d, nil
}

// finish derives what needs the whole state.
func (d *Document) finish(h header, known *redact.Redactor) {
	for _, c := range h.checks {
		d.Checks = append(d.Checks, Check{Address: c.Addr, Status: c.Status})
	}
	slices.SortFunc(d.Resources, func(a, b Resource) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortFunc(d.Outputs, func(a, b Output) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(d.Sensitive, func(a, b Sensitive) int { return cmp.Compare(a.Address, b.Address) })
	d.neededBy()
	d.hide(known)
	d.Modules = d.count(func(r Resource) string { return cmp.Or(r.Module, rootModule) })
	d.Types = d.count(func(r Resource) string { return r.Type })
	d.Providers = d.count(func(r Resource) string { return r.Provider })
	d.Runtime = d.runtime()
}

// rootModule stands for the module without a name.
const rootModule = "(root)"

func (d *Document) addResource(raw rawResource, known *redact.Redactor) error {
	r := Resource{
		Address: raw.address(), Module: raw.Module, Mode: raw.Mode, Type: raw.Type, Name: raw.Name,
		Provider: providerName(raw.Provider), Instances: []Instance{},
	}
	needs := map[string]bool{}
	for _, i := range raw.Instances {
		if r.Provider == "" {
			r.Provider = providerName(i.Provider)
		}
		address := i.address(r.Address)
		r.Instances = append(r.Instances, Instance{
			Address: address, Deposed: i.Deposed, Tainted: i.Status == "tainted", CreateBeforeDestroy: i.CreateBeforeDestroy,
		})
		for _, dependency := range i.Dependencies {
			needs[dependency] = true
		}
		found, err := sensitiveIn(raw, i, address, known)
		if err != nil {
			return err
		}
		d.Sensitive = append(d.Sensitive, found...)
	}
	r.DependsOn = slices.Sorted(maps.Keys(needs))
	d.Resources = append(d.Resources, r)
	return nil
}

func sensitiveIn(r rawResource, i rawInstance, address string, known *redact.Redactor) ([]Sensitive, error) {
	g, err := newGuard(r, i)
	if err != nil {
		return nil, err
	}
	values, err := i.values()
	if err != nil {
		return nil, fmt.Errorf("%s: attributes: %w", address, err)
	}
	known.Add(g.secrets(values)...)
	return g.sensitive(address, values), nil
}

func (d *Document) addOutput(name string, o rawOutput, known *redact.Redactor) {
	known.Add(o.secrets(name)...)
	d.Outputs = append(d.Outputs, Output{Name: name, Type: compact(o.Type), Sensitive: o.Sensitive})
	switch {
	case o.Sensitive:
		d.Sensitive = append(d.Sensitive, Sensitive{Address: "output." + name, Why: Marked})
	case secretName(name), len(o.Value) > 0 && o.hides():
		d.Sensitive = append(d.Sensitive, Sensitive{Address: "output." + name, Why: Named})
	}
}

// compact writes JSON without white space.
func compact(text json.RawMessage) string {
	if len(text) == 0 {
		return ""
	}
	return encode(text)
}

// encode writes a value as JSON, on one line. What was decoded from JSON can be encoded.
func encode(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value)
	return strings.TrimSuffix(b.String(), "\n")
}

// neededBy turns dependencies round.
func (d *Document) neededBy() {
	by := map[string][]string{}
	for _, r := range d.Resources {
		for _, needed := range r.DependsOn {
			by[needed] = append(by[needed], r.Address)
		}
	}
	for i := range d.Resources {
		d.Resources[i].NeededBy = by[address.WithoutKeys(d.Resources[i].Address)]
	}
}

// count groups the resources, the largest group first.
func (d *Document) count(name func(Resource) string) []Count {
	groups := map[string]*Count{}
	for _, r := range d.Resources {
		c := groups[name(r)]
		if c == nil {
			c = &Count{Name: name(r)}
			groups[c.Name] = c
		}
		if r.Managed() {
			c.Resources++
			c.Instances += len(r.Instances)
		} else {
			c.Data += len(r.Instances)
		}
	}
	var all []Count
	for _, c := range groups {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Instances+b.Data, a.Instances+a.Data), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// runtime is the program whose registry all providers that have one come from.
func (d *Document) runtime() string {
	found := ""
	for _, p := range d.Providers {
		switch name := runtimeOf(p.Name); {
		case name == "":
		case found != "" && found != name:
			return ""
		default:
			found = name
		}
	}
	return found
}
