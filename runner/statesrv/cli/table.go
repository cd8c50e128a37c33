package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

// table writes rows under a heading, in columns. Out keeps the error.
func (a *App) table(heading []string, rows [][]string) { _ = table.Write(a.Out, heading, rows) }

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
		since = table.Stamp(l.Since)
	}
	return fmt.Sprintf("%s for %s since %s", table.OrDash(l.Info.Who), table.OrDash(l.Info.Operation), table.OrDash(since))
}
