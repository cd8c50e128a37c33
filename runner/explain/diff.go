package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/captf/captf-runner/runner/redact"
)

// instance is one of a state, with its resource.
type instance struct {
	resource rawResource // without instances
	rawInstance
}

func (i instance) reference() Reference {
	return Reference{
		Address: i.address(i.resource.address()), Deposed: i.Deposed, Mode: i.resource.Mode,
		Provider: providerName(cmp.Or(i.rawInstance.Provider, i.resource.Provider)),
	}
}

// key tells instances of one state apart.
func (r Reference) key() string { return r.Address + "\x00" + r.Deposed }

// differ compares while it reads.
type differ struct {
	Difference
	before  map[string]instance
	outputs map[string]rawOutput
	added   []instance
	redact  *redact.Redactor
	short   map[string]bool // marked secrets, too short to be looked for inside other values
}

// Diff compares two states. The error says which of them it is about, and is a *state.Error with the reason
// Corrupt when that is no state of version 4, or too large; or it is that of the reader. Of an encrypted state
// only the envelope is compared.
func Diff(before, after io.Reader) (*Difference, error) {
	d := &differ{before: map[string]instance{}, outputs: map[string]rawOutput{}, redact: redact.New(), short: map[string]bool{}}
	d.Added, d.Removed, d.Moved, d.Changed, d.Outputs = []Reference{}, []Reference{}, []Moved{}, []Change{}, []Value{}
	first := &visitor{resource: each(d.keep), output: d.keepOutput}
	if err := first.walk(before); err != nil {
		return nil, fmt.Errorf("the first state: %w", err)
	}
	second := &visitor{resource: each(d.compare), output: d.compareOutput}
	if err := second.walk(after); err != nil {
		return nil, fmt.Errorf("the second state: %w", err)
	}
	d.Before, d.After = first.header.side(), second.header.side()
	d.Same = d.Before.Digest == d.After.Digest
	if d.Before.Encrypted || d.After.Encrypted {
		d.Added, d.Removed, d.Changed, d.Outputs = []Reference{}, []Reference{}, []Change{}, []Value{}
	} else if err := d.rest(); err != nil {
		return nil, err
	}
	d.Notes = d.notes()
	d.sort()
	d.hide()
	return &d.Difference, nil
}

func (h header) side() Side {
	return Side{Bytes: h.bytes, Digest: h.digest, ToolVersion: h.tool, Serial: h.serial, Lineage: h.lineage, Encrypted: h.encryption != nil}
}

// each makes a visit of a resource one of its instances.
func each(visit func(instance) error) func(rawResource) error {
	return func(r rawResource) error {
		instances := r.Instances
		r.Instances = nil
		for _, i := range instances {
			if err := visit(instance{r, i}); err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *differ) keep(i instance) error {
	d.before[i.reference().key()] = i
	return d.learn(i)
}

// learn takes the secrets of an instance, to be hidden wherever they stand.
func (d *differ) learn(i instance) error {
	g, values, err := i.read()
	if err == nil {
		d.secrets(g.secrets(values))
	}
	return err
}

func (d *differ) secrets(all []string) {
	d.redact.Add(all...)
	for _, text := range all {
		if utf8.RuneCountInString(text) < redact.MinLength {
			d.short[text] = true
		}
	}
}

// read decodes an instance.
func (i instance) read() (guard, any, error) {
	g, err := newGuard(i.resource, i.rawInstance)
	if err != nil {
		return guard{}, nil, err
	}
	values, err := i.values()
	if err != nil {
		return guard{}, nil, fmt.Errorf("%s: attributes: %w", i.reference().Address, err)
	}
	return g, values, nil
}

// compare compares an instance of the second state with that of the first.
func (d *differ) compare(after instance) error {
	if err := d.learn(after); err != nil {
		return err
	}
	key := after.reference().key()
	before, known := d.before[key]
	if !known {
		d.added = append(d.added, after)
		return nil
	}
	delete(d.before, key)
	change, err := compareInstances(before, after)
	if err == nil && change != nil {
		d.Changed = append(d.Changed, *change)
	}
	return err
}

// rest sorts out what only one state has.
func (d *differ) rest() error {
	gone := map[string][]instance{} // by what a move keeps
	for _, i := range d.before {
		gone[i.moveKey()] = append(gone[i.moveKey()], i)
	}
	for _, i := range d.added {
		from := gone[i.moveKey()]
		if i.resource.Mode != modeManaged || len(from) != 1 {
			d.Added = append(d.Added, i.reference())
			continue
		}
		delete(gone, i.moveKey())
		delete(d.before, from[0].reference().key())
		d.Moved = append(d.Moved, Moved{From: from[0].reference().Address, To: i.reference().Address})
	}
	for _, i := range d.before {
		d.Removed = append(d.Removed, i.reference())
	}
	for name, o := range d.outputs {
		d.Outputs = append(d.Outputs, outputValue(name, &o, nil))
		d.learnOutput(name, o)
	}
	return nil
}

// moveKey is what stays the same when an instance moves.
func (i instance) moveKey() string {
	return i.resource.Mode + "\x00" + i.resource.Type + "\x00" + i.Deposed + "\x00" + compact(i.Attributes)
}

func (d *differ) keepOutput(name string, o rawOutput) {
	d.outputs[name] = o
	d.learnOutput(name, o)
}

func (d *differ) learnOutput(name string, o rawOutput) { d.secrets(o.secrets(name)) }

// secrets lists the texts of an output to hide wherever they stand.
func (o rawOutput) secrets(name string) []string {
	var value any
	if decode(o.Value, &value) != nil {
		return nil // it was read before, so it can be decoded
	}
	var all []string
	leaves(value, nil, func(p path, leaf any) {
		text := leafText(leaf)
		if o.Sensitive || (secretName(name) || p.secret() || secretValue(leaf)) && len(text) >= namedLength {
			all = append(all, text)
		}
	})
	return all
}

func (d *differ) compareOutput(name string, after rawOutput) {
	d.learnOutput(name, after)
	before, known := d.outputs[name]
	delete(d.outputs, name)
	switch {
	case !known:
		d.Outputs = append(d.Outputs, outputValue(name, nil, &after))
	case compact(before.Value) != compact(after.Value) || before.Sensitive != after.Sensitive || compact(before.Type) != compact(after.Type):
		d.Outputs = append(d.Outputs, outputValue(name, &before, &after))
	}
}

// outputValue tells of an output; nil is none.
func outputValue(name string, before, after *rawOutput) Value {
	text := func(o *rawOutput) *string {
		if o == nil {
			return nil
		}
		s := compact(o.Value)
		return &s
	}
	v := Value{Path: name, Action: action(before != nil, after != nil)}
	v.Sensitive = secretName(name) || before != nil && before.hides() || after != nil && after.hides()
	if !v.Sensitive {
		v.Before, v.After = text(before), text(after)
	}
	return v
}

// hides reports whether the output, or anything in it, is a secret.
func (o rawOutput) hides() bool {
	var value any
	hidden := o.Sensitive || decode(o.Value, &value) != nil
	leaves(value, nil, func(p path, leaf any) { hidden = hidden || p.secret() || secretValue(leaf) })
	return hidden
}

func action(before, after bool) string {
	switch {
	case !before:
		return Added
	case !after:
		return Removed
	}
	return Changed
}

// notes tells what serials and lineages mean.
func (d *Difference) notes() []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	b, a := d.Before, d.After
	switch {
	case d.Same:
		add("they are the same, byte for byte")
	case b.Lineage == "" || a.Lineage == "":
		add("one of them shows no lineage, so their serials cannot be compared")
	case b.Lineage != a.Lineage:
		add("their lineages differ: they are states of different objects, and neither can be written over the other")
	case a.Serial < b.Serial:
		add("the second is the older one: it cannot be written over the first without a new serial, as a restore gives it")
	case a.Serial == b.Serial && d.Empty() && !d.Encrypted():
		add("only the way differs in which they are written down, such as white space")
	case a.Serial == b.Serial:
		add("they have the same serial and are not the same: two writers made them from one state, and one of them is lost where the other is kept")
	}
	switch {
	case b.Encrypted && a.Encrypted:
		add("OpenTofu encrypted both: resources and outputs are not compared")
	case d.Encrypted():
		add("OpenTofu encrypted one of them: resources and outputs are not compared")
	}
	return all
}

func (d *Difference) sort() {
	byKey := func(a, b Reference) int { return strings.Compare(a.key(), b.key()) }
	slices.SortFunc(d.Added, byKey)
	slices.SortFunc(d.Removed, byKey)
	slices.SortFunc(d.Moved, func(a, b Moved) int { return strings.Compare(a.To, b.To) })
	slices.SortFunc(d.Changed, func(a, b Change) int { return byKey(a.Reference, b.Reference) })
	slices.SortFunc(d.Outputs, func(a, b Value) int { return strings.Compare(a.Path, b.Path) })
}

func (d *differ) hideIn(values []Value) {
	for i := range values {
		for _, text := range []*string{values[i].Before, values[i].After} {
			switch {
			case text == nil:
			case d.short[strings.Trim(*text, `"`)]:
				*text = redact.Placeholder
			default:
				*text = cut(d.redact.String(*text))
			}
		}
	}
}

// cut bounds a text, and says so.
func cut(s string) string {
	if len(s) <= MaxValue {
		return s
	}
	return strings.ToValidUTF8(s[:MaxValue], "") + fmt.Sprintf("... (%d bytes)", len(s))
}
