package explain

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// compareInstances returns what changed, nil when nothing did.
func compareInstances(before, after instance) (*Change, error) {
	change := &Change{Reference: after.reference(), Notes: instanceNotes(before, after)}
	guardBefore, valuesBefore, err := before.read()
	if err != nil {
		return nil, err
	}
	guardAfter, valuesAfter, err := after.read()
	if err != nil {
		return nil, err
	}
	c := comparison{guard: guardBefore.join(guardAfter), hidden: map[string]bool{}}
	c.compare(nil, valuesBefore, valuesAfter)
	change.Attributes = c.values
	if len(change.Notes)+len(change.Attributes) == 0 {
		return nil, nil
	}
	return change, nil
}

// instanceNotes are the changes beside the attributes.
func instanceNotes(before, after instance) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if before.Status != after.Status {
		add("status: %s to %s", statusName(before.Status), statusName(after.Status))
	}
	if b, a := before.reference().Provider, after.reference().Provider; b != a {
		add("provider: %s to %s", b, a)
	}
	if before.SchemaVersion != after.SchemaVersion {
		add("schema version: %s to %s", before.SchemaVersion, after.SchemaVersion)
	}
	if before.CreateBeforeDestroy != after.CreateBeforeDestroy {
		add("create_before_destroy: %t to %t", before.CreateBeforeDestroy, after.CreateBeforeDestroy)
	}
	for _, d := range without(after.Dependencies, before.Dependencies) {
		add("depends on %s", d)
	}
	for _, d := range without(before.Dependencies, after.Dependencies) {
		add("depends no more on %s", d)
	}
	if before.Private != after.Private {
		add("what the provider keeps for itself has changed")
	}
	return all
}

func statusName(s string) string {
	if s == "" {
		return "ready"
	}
	return s
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// comparison collects the attributes of one instance that differ.
type comparison struct {
	guard  guard
	hidden map[string]bool // marked paths that are told of
	values []Value
}

// compare descends to what differs. Null is no value, as it is to a configuration.
func (c *comparison) compare(p path, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	if prefix, marked := c.guard.mark(p); marked {
		c.tell(prefix, before, after, true)
		return
	}
	if c.objects(p, before, after) || c.lists(p, before, after) {
		return
	}
	c.tell(p, before, after, c.guard.hides(p) || c.guard.hidesBelow(p, before) || c.guard.hidesBelow(p, after))
}

// objects compares two objects, one of which may be missing.
func (c *comparison) objects(p path, before, after any) bool {
	b, isB := before.(map[string]any)
	a, isA := after.(map[string]any)
	if !(isB || before == nil) || !(isA || after == nil) || len(b)+len(a) == 0 {
		return false
	}
	keys := maps.Clone(b)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, a)
	wrapped := (wrapper(b) || b == nil) && (wrapper(a) || a == nil)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if wrapped && key == "type" && !reflect.DeepEqual(b["value"], a["value"]) {
			continue // the value tells of it
		}
		c.compare(p.with(step{key: key, wrapper: wrapped && key == "value"}), b[key], a[key])
	}
	return true
}

// lists compares two lists, one of which may be missing, element by element.
func (c *comparison) lists(p path, before, after any) bool {
	b, isB := before.([]any)
	a, isA := after.([]any)
	if !(isB || before == nil) || !(isA || after == nil) || len(b)+len(a) == 0 {
		return false
	}
	for i := range max(len(b), len(a)) {
		c.compare(p.with(indexStep(i)), element(b, i), element(a, i))
	}
	return true
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// tell adds a value, a hidden one once.
func (c *comparison) tell(p path, before, after any, sensitive bool) {
	v := Value{Path: p.String(), Action: action(before != nil, after != nil), Sensitive: sensitive}
	if sensitive {
		if c.hidden[v.Path] {
			return
		}
		c.hidden[v.Path] = true
	} else {
		v.Before, v.After = valueText(before), valueText(after)
	}
	c.values = append(c.values, v)
}

func valueText(value any) *string {
	if value == nil {
		return nil
	}
	s := encode(value)
	return &s
}
