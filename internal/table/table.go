// Package table writes columns for people: [Write] a table, [Wrap] a text, [Printable] what makes text of others
// safe for a terminal.
package table

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// gap is the number of spaces between two columns.
const gap = 2

// Write writes rows under a heading, in columns. A nil heading is left out. Cells are made [Printable],
// and an empty one is a dash. On a terminal that is narrower than the table each row is written as lines of
// heading and cell, and a blank line between two: nothing is cut, and nothing wraps that need not. What is not
// a terminal always gets the table. The error is that of w.
func Write(w io.Writer, heading []string, rows [][]string) error {
	var cells [][]string
	for _, row := range rows {
		cells = append(cells, printable(row))
	}
	if width := Width(w); heading != nil && width > 0 && width < total(append(cells, heading)) {
		return fold(w, heading, cells)
	}
	if heading != nil {
		cells = append([][]string{heading}, cells...)
	}
	return columns(w, cells)
}

// columns aligns cells.
func columns(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// fold writes each row as a block.
func fold(w io.Writer, heading []string, rows [][]string) error {
	for i, row := range rows {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var lines [][]string
		for k, cell := range row {
			lines = append(lines, []string{heading[k], cell})
		}
		if err := columns(w, lines); err != nil {
			return err
		}
	}
	return nil
}

func printable(row []string) []string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = OrDash(Printable(cell))
	}
	return cells
}

// total is the width of a table.
func total(rows [][]string) int {
	var widest []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widest) {
				widest = append(widest, 0)
			}
			widest[i] = max(widest[i], utf8.RuneCountInString(cell))
		}
	}
	sum := gap * (len(widest) - 1)
	for _, n := range widest {
		sum += n
	}
	return sum
}

// Width is that of the terminal w is, in columns, and 0 if it is none.
func Width(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Wrap breaks a text between words, so that lines behind an indentation fit into width columns, and indents all
// but the first. A width of 0 breaks nothing; neither does a text that hardly fits. Do not wrap a command: its
// pieces would be pasted as commands of their own.
func Wrap(text string, indent, width int) string {
	room := width - indent
	if room < 20 {
		return text
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > room:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// Printable replaces every character that could move a terminal's cursor, or hide, by a question mark, and the end of a
// line by a space.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
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
