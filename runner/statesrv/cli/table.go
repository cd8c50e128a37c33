package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/captf/captf-runner/runner/statesrv"
)

// table writes rows under a heading, in columns.
func (a *App) table(heading []string, rows [][]string) {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{heading}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = orDash(printable(cell))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
}

// printable makes what clients sent safe for a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// serialOf is empty for a state whose envelope does not show it.
func serialOf(v statesrv.Version) string {
	if v.Lineage == "" {
		return ""
	}
	return strconv.FormatUint(v.Serial, 10)
}

// marks tells what is special about a version.
func marks(v statesrv.Version) string {
	var all []string
	if v.RestoredFrom != 0 {
		all = append(all, fmt.Sprintf("restored from %d", v.RestoredFrom))
	}
	for _, m := range []struct {
		is   bool
		text string
	}{{v.Forced, "forced"}, {v.Opaque, "encrypted"}, {v.Pruned, "pruned"}} {
		if m.is {
			all = append(all, m.text)
		}
	}
	return strings.Join(all, ", ")
}

// heldBy tells of a lock's holder.
func heldBy(l *statesrv.Lock) string {
	if l == nil {
		return ""
	}
	since := l.Info.Created
	if !l.Since.IsZero() {
		since = stamp(l.Since)
	}
	return fmt.Sprintf("%s for %s since %s", orDash(l.Info.Who), orDash(l.Info.Operation), orDash(since))
}
