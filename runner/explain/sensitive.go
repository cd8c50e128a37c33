package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// guard knows which attributes of an instance hold secrets.
type guard struct {
	marked []path
	// whole says that the type of the resource is that of a secret: everything in it counts as one.
	whole bool
}

func newGuard(r rawResource, i rawInstance) (guard, error) {
	marked, err := markedPaths(i.SensitiveAttributes)
	if err != nil {
		return guard{}, fmt.Errorf("%s: %w", i.address(r.address()), err)
	}
	return guard{marked: marked, whole: secretName(r.Type)}, nil
}

// join is the guard for what is secret to one of the two.
func (g guard) join(o guard) guard {
	return guard{marked: slices.Concat(g.marked, o.marked), whole: g.whole || o.whole}
}

// mark returns the marked path that p is within.
func (g guard) mark(p path) (path, bool) {
	i := slices.IndexFunc(g.marked, p.within)
	if i < 0 {
		return nil, false
	}
	return g.marked[i], true
}

// hides reports whether the value at p is secret.
func (g guard) hides(p path) bool {
	_, marked := g.mark(p)
	return marked || g.whole || p.secret()
}

// hidesBelow reports whether there is a secret in the value at p.
func (g guard) hidesBelow(p path, value any) bool {
	found := false
	leaves(value, p, func(p path, leaf any) { found = found || g.hides(p) || secretValue(leaf) })
	return found
}

// sensitive lists where the instance has secrets. Null and "" are none.
func (g guard) sensitive(address string, attributes any) []Sensitive {
	found := map[string]string{}
	leaves(attributes, nil, func(p path, leaf any) {
		if prefix, ok := g.mark(p); ok {
			found[prefix.String()] = Marked
		} else if p.secret() || secretValue(leaf) {
			found[p.String()] = Named
		}
	})
	if g.whole && len(found) == 0 && attributes != nil {
		return []Sensitive{{Address: address, Why: Named}}
	}
	var all []Sensitive
	for _, text := range slices.Sorted(maps.Keys(found)) {
		all = append(all, Sensitive{Address: address, Path: text, Why: found[text]})
	}
	return all
}

// namedLength is how long a value must be that only its name makes a secret, to be hidden where it stands
// inside others as well: "eu" and "default" are everywhere.
const namedLength = 8

// secrets lists the texts to hide wherever they stand.
func (g guard) secrets(attributes any) []string {
	var all []string
	leaves(attributes, nil, func(p path, value any) {
		text := leafText(value)
		if _, marked := g.mark(p); marked || (p.secret() || secretValue(value)) && len(text) >= namedLength {
			all = append(all, text)
		}
	})
	return all
}

// leafText is the text of a string or number, and empty for a boolean.
func leafText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// leaves visits what is neither null, empty, nor made of other values.
func leaves(value any, p path, visit func(path, any)) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		wrapped := wrapper(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !wrapped || key == "value" {
				leaves(v[key], p.with(step{key: key, wrapper: wrapped}), visit)
			}
		}
	case []any:
		for i, e := range v {
			leaves(e, p.with(indexStep(i)), visit)
		}
	default:
		if v != "" {
			visit(p, v)
		}
	}
}

// wrapper reports whether an object looks like an attribute that may have any type: its value with its type.
func wrapper(object map[string]any) bool {
	_, ok := object["value"]
	if !ok || len(object) != 2 {
		return false
	}
	kind := object["type"]
	if list, ok := kind.([]any); ok && len(list) == 2 {
		kind = list[0]
	}
	switch kind {
	case "string", "number", "bool", "dynamic", "object", "tuple", "list", "map", "set":
		return true
	}
	return false
}

func indexStep(i int) step { return step{key: fmt.Sprint(i), index: true} }

// attributes decodes the values of an instance. attributes_flat is what states of Terraform 0.11 had.
func (i rawInstance) values() (any, error) {
	text := i.Attributes
	if len(text) == 0 {
		text = i.AttributesFlat
	}
	var value any
	err := decode(text, &value)
	return value, err
}
