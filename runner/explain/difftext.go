package explain

import (
	"fmt"
	"io"
	"strconv"

	"github.com/captf/captf-runner/internal/table"
)

// WriteText writes d for people: + for what was added, - for what is gone, > for what moved and ~ for what
// changed. The error is that of w.
func (d *Difference) WriteText(w io.Writer) error {
	t := &text{w: w}
	t.table([]string{"", "SERIAL", "LINEAGE", "WRITTEN BY", "BYTES", "DIGEST"}, [][]string{d.Before.row("first"), d.After.row("second")})
	t.list("Mind", d.Notes)
	if d.Empty() {
		if !d.Encrypted() {
			t.printf("\nResources and outputs are the same.\n")
		}
		return t.err
	}
	t.section(1)
	for _, r := range d.Removed {
		t.line("-", r.title())
	}
	for _, r := range d.Added {
		t.line("+", r.title())
	}
	for _, m := range d.Moved {
		t.line(">", m.From+" is now "+m.To)
	}
	for _, c := range d.Changed {
		t.change(c)
	}
	for _, o := range d.Outputs {
		t.line(mark(o.Action), "output "+o.sentence())
	}
	t.printf("\n%d added, %d removed, %d moved, %d changed; outputs: %d\n", len(d.Added), len(d.Removed), len(d.Moved), len(d.Changed), len(d.Outputs))
	return t.err
}

func (s Side) row(name string) []string {
	serial := ""
	if s.Lineage != "" {
		serial = strconv.FormatUint(s.Serial, 10)
	}
	written := s.ToolVersion
	if s.Encrypted {
		written = "OpenTofu, encrypted"
	}
	return []string{name, serial, s.Lineage, written, strconv.FormatInt(s.Bytes, 10), s.Digest[:min(len(s.Digest), len("sha256:")+12)]}
}

func (r Reference) title() string {
	if r.Deposed != "" {
		return r.Address + " (deposed " + r.Deposed + ")"
	}
	return r.Address
}

func mark(action string) string {
	switch action {
	case Added:
		return "+"
	case Removed:
		return "-"
	}
	return "~"
}

func (t *text) line(mark, line string) { t.printf("%s %s\n", mark, table.Printable(line)) }

func (t *text) change(c Change) {
	t.line("~", c.title())
	for _, n := range c.Notes {
		t.line("   ", n)
	}
	for _, v := range c.Attributes {
		t.line("    "+mark(v.Action), v.sentence())
	}
}

// sentence is path: before -> after, with what is missing left out.
func (v Value) sentence() string {
	switch {
	case v.Sensitive:
		return v.Path + ": (sensitive)"
	case v.Before == nil && v.After == nil:
		return v.Path
	case v.Before == nil:
		return v.Path + ": " + *v.After
	case v.After == nil:
		return v.Path + ": " + *v.Before
	}
	return fmt.Sprintf("%s: %s -> %s", v.Path, *v.Before, *v.After)
}
