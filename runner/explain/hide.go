package explain

import (
	"regexp"

	"github.com/captf/captf-runner/runner/redact"
)

// quotedKey is a key of for_each, or of a map, in an address or a path.
var quotedKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)

// hideKeys replaces the secrets in the keys of an address. Names are left: they stand in the configuration.
func hideKeys(r *redact.Redactor, address string) string {
	return quotedKey.ReplaceAllStringFunc(address, func(key string) string {
		return `["` + r.String(key[2:len(key)-2]) + `"]`
	})
}

// firstName is the attribute that a path begins with. The schema of the resource has it, so it is no secret.
var firstName = regexp.MustCompile(`^[^.\[]+`)

// hidePath replaces the secrets in what follows the attribute: keys of maps look like attributes there.
func hidePath(r *redact.Redactor, path string) string {
	n := len(firstName.FindString(path))
	return path[:n] + hideKeys(r, r.String(path[n:]))
}

// hide replaces, in what is shown of an instance, the secrets that were learned.
func (d *Document) hide(known *redact.Redactor) {
	for i := range d.Resources {
		r := &d.Resources[i]
		r.Address, r.Module = hideKeys(known, r.Address), hideKeys(known, r.Module)
		for j := range r.Instances {
			r.Instances[j].Address = hideKeys(known, r.Instances[j].Address)
		}
		hideAll(known, r.DependsOn)
		hideAll(known, r.NeededBy)
	}
	for i := range d.Sensitive {
		s := &d.Sensitive[i]
		s.Address, s.Path = hideKeys(known, s.Address), hidePath(known, s.Path)
	}
	for i := range d.Checks {
		d.Checks[i].Address = hideKeys(known, d.Checks[i].Address)
	}
}

func hideAll(r *redact.Redactor, addresses []string) {
	for i := range addresses {
		addresses[i] = hideKeys(r, addresses[i])
	}
}

// hide replaces in addresses, paths and values the secrets that both states told of.
func (d *differ) hide() {
	for _, list := range [][]Reference{d.Added, d.Removed} {
		for i := range list {
			list[i].Address = hideKeys(d.redact, list[i].Address)
		}
	}
	for i := range d.Moved {
		m := &d.Moved[i]
		m.From, m.To = hideKeys(d.redact, m.From), hideKeys(d.redact, m.To)
	}
	for i := range d.Changed {
		c := &d.Changed[i]
		c.Address = hideKeys(d.redact, c.Address)
		hideAll(d.redact, c.Notes)
		d.hideIn(c.Attributes)
		for j := range c.Attributes {
			c.Attributes[j].Path = hidePath(d.redact, c.Attributes[j].Path)
		}
	}
	d.hideIn(d.Outputs)
}
