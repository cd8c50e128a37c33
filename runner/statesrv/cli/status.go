package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

func (a *App) status(ctx context.Context, args []string) error {
	o := a.options("status")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	st, err := s.Status(ctx)
	if err != nil {
		return o.refused(err)
	}
	if st.Versions == 0 && st.Lock == nil { // the name may be misspelt
		fmt.Fprintf(a.Err, "%s was never written or locked; statesrv ls lists the states\n", rest[0])
	}
	return o.print(st, func() { a.statusTable(st) })
}

func (a *App) statusTable(st statesrv.Status) {
	rows := [][]string{{"state", st.Name}, {"version", content(st)}}
	if v := st.Current; v != nil {
		rows = append(rows, []string{"serial", serialOf(*v)}, []string{"lineage", v.Lineage}, []string{"bytes", strconv.FormatInt(v.Bytes, 10)},
			[]string{"digest", v.Digest}, []string{"written", table.Stamp(v.Time)}, []string{"by", v.Who}, []string{"notes", marks(*v)})
	}
	rows = append(rows, []string{"lock", heldBy(st.Lock)})
	if st.Lock != nil {
		rows = append(rows, []string{"lock ID", st.Lock.Info.ID})
	}
	a.table(nil, rows)
}

// content tells what a state has.
func content(st statesrv.Status) string {
	switch {
	case st.Error != "":
		return "unreadable"
	case st.Current != nil:
		return strconv.Itoa(st.Current.Number)
	case st.Deleted:
		return fmt.Sprintf("deleted (%d kept)", st.Versions)
	}
	return "none yet"
}
