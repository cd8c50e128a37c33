package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/internal/table"
)

// WriteText writes d for people. The error is that of w.
func (d *Document) WriteText(w io.Writer) error {
	t := &text{w: w}
	t.table(nil, d.facts())
	t.list("The next write", d.NextWrite)
	for _, g := range []struct {
		title  string
		counts []Count
	}{{"MODULE", d.Modules}, {"TYPE", d.Types}, {"PROVIDER", d.Providers}} {
		t.section(len(g.counts))
		t.table([]string{g.title, "RESOURCES", "INSTANCES", "DATA"}, countRows(g.counts))
	}
	t.section(len(d.Resources))
	t.table([]string{"RESOURCE", "INSTANCES", "NOTES", "DEPENDS ON"}, resourceRows(d.Resources))
	t.section(len(d.Outputs))
	t.table([]string{"OUTPUT", "TYPE", "SENSITIVE"}, outputRows(d.Outputs))
	t.section(len(d.Sensitive))
	t.table([]string{"SENSITIVE, NOT SHOWN", "ATTRIBUTE", "WHY"}, sensitiveRows(d.Sensitive))
	for _, topic := range []struct{ name, title string }{
		{Push, "Before you push it"}, {Move, "Before you move something in it"},
		{Remove, "Before you remove something from it"}, {Keep, "Copies"},
	} {
		t.list(topic.title, d.adviceOn(topic.name))
	}
	return t.err
}

func (d *Document) facts() [][]string {
	rows := [][]string{{"format version", numberOrDash(d.FormatVersion)}}
	if d.Encryption != nil {
		rows = [][]string{
			{"encrypted", "by OpenTofu, envelope " + d.Encryption.Version},
			{"key providers", strings.Join(d.Encryption.KeyProviders, ", ")},
		}
	}
	serial := ""
	if d.Lineage != "" {
		serial = strconv.FormatUint(d.Serial, 10)
	}
	written := strings.TrimSpace(d.Runtime + " " + d.ToolVersion)
	if d.Runtime == "" && d.ToolVersion != "" {
		written += " (of OpenTofu or Terraform: the state does not tell)"
	}
	return append(rows,
		[]string{"written by", written}, []string{"serial", serial}, []string{"lineage", d.Lineage},
		[]string{"bytes", strconv.FormatInt(d.Bytes, 10)}, []string{"digest", d.Digest})
}

func numberOrDash(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func countRows(counts []Count) [][]string {
	var rows [][]string
	for _, c := range counts {
		rows = append(rows, []string{c.Name, strconv.Itoa(c.Resources), strconv.Itoa(c.Instances), strconv.Itoa(c.Data)})
	}
	return rows
}

func resourceRows(resources []Resource) [][]string {
	var rows [][]string
	for _, r := range resources {
		rows = append(rows, []string{r.Address, strconv.Itoa(len(r.Instances)), r.notes(), some(r.DependsOn)})
	}
	return rows
}

// notes tells what is special about the instances.
func (r Resource) notes() string {
	var tainted, deposed int
	for _, i := range r.Instances {
		if i.Tainted {
			tainted++
		}
		if i.Deposed != "" {
			deposed++
		}
	}
	var all []string
	for _, n := range []struct {
		count int
		what  string
	}{{tainted, "tainted"}, {deposed, "deposed"}, {len(r.NeededBy), plural.Of("dependent", len(r.NeededBy))}} {
		if n.count > 0 {
			all = append(all, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	return strings.Join(all, ", ")
}

func outputRows(outputs []Output) [][]string {
	var rows [][]string
	for _, o := range outputs {
		rows = append(rows, []string{o.Name, o.Type, yes(o.Sensitive)})
	}
	return rows
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func sensitiveRows(all []Sensitive) [][]string {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{s.Address, s.Path, s.Why})
	}
	return rows
}

func (d *Document) adviceOn(topic string) []string {
	var all []string
	for _, a := range d.Advice {
		if a.Topic == topic {
			all = append(all, a.Text)
		}
	}
	return all
}

// text writes parts with an empty line between them, until the first error.
type text struct {
	w   io.Writer
	err error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// section starts a part that has n lines.
func (t *text) section(n int) {
	if n > 0 {
		t.printf("\n")
	}
}

func (t *text) table(heading []string, rows [][]string) {
	if t.err == nil && len(rows) > 0 {
		t.err = table.Write(t.w, heading, rows)
	}
}

func (t *text) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.printf("\n%s:\n", title)
	for _, line := range lines {
		t.printf("  * %s\n", table.Wrap(table.Printable(line), len("  * "), table.Width(t.w)))
	}
}
