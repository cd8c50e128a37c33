package explain

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// path leads to a value in an instance's attributes: texts as JSON has them, "name" or 0.
type path []step

// step is a key of an object or the index of a list.
type step struct {
	key   string
	index bool // key is a number
	// wrapper says that this looks like the "value" beside the "type" of an attribute that may have any
	// type. An expression, and a mark, has no such step.
	wrapper bool
}

func (s step) equal(o step) bool { return s.key == o.key && s.index == o.index }

var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)

// String writes the path as an expression would.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.wrapper:
		case s.index:
			b.WriteString("[" + s.key + "]")
		case !identifier.MatchString(s.key):
			b.WriteString("[" + quote(s.key) + "]")
		case i > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// with returns p and one step more. Paths share no memory.
func (p path) with(s step) path { return append(slices.Clip(p), s) }

// within reports whether p is prefix, or leads to something below it. What looks like a wrapper may be
// one or not, so both count.
func (p path) within(prefix path) bool {
	switch {
	case len(prefix) == 0:
		return true
	case len(p) == 0:
		return false
	case p[0].equal(prefix[0]) && p[1:].within(prefix[1:]):
		return true
	}
	return p[0].wrapper && p[1:].within(prefix)
}

// secret reports whether a name on the way says that the value is a secret.
func (p path) secret() bool {
	return slices.ContainsFunc(p, func(s step) bool { return !s.index && secretName(s.key) })
}

// markedPaths reads sensitive_attributes.
func markedPaths(text json.RawMessage) ([]path, error) {
	var raw [][]struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	if err := decode(text, &raw); err != nil {
		return nil, fmt.Errorf("sensitive_attributes: %w", err)
	}
	paths := make([]path, 0, len(raw))
	for _, steps := range raw {
		var p path
		for _, s := range steps {
			next, err := markedStep(s.Type, s.Value)
			if err != nil {
				return nil, err
			}
			p = append(p, next)
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// markedStep reads a step: the name of an attribute, or an index with its type.
func markedStep(kind string, value json.RawMessage) (step, error) {
	switch kind {
	case "get_attr":
		var name string
		err := json.Unmarshal(value, &name)
		return step{key: name}, err
	case "index":
		var index struct {
			Value any    `json:"value"`
			Type  string `json:"type"`
		}
		if err := decode(value, &index); err != nil {
			return step{}, fmt.Errorf("sensitive_attributes: %w", err)
		}
		_, number := index.Value.(json.Number)
		return step{key: fmt.Sprint(index.Value), index: number}, nil
	}
	return step{}, fmt.Errorf("sensitive_attributes: a step of type %q", kind)
}
