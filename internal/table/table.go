// Package table writes columns for people: [Write] a table, [Printable] what makes text of others
// safe for a terminal.
package table

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// Write writes rows under a heading, in columns. A nil heading is left out. Cells are made [Printable],
// and an empty one is a dash. The error is that of w.
func Write(w io.Writer, heading []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if heading != nil {
		rows = append([][]string{heading}, rows...)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = OrDash(Printable(cell))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// Printable replaces every character that could move a terminal's cursor, or hide, by a question mark.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// OrDash returns s, or a dash when it is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Stamp returns t in UTC to the second, and nothing for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
