package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

// pageLimit is how many entries are asked for at once.
const pageLimit = 500

func (a *App) history(ctx context.Context, args []string) error {
	o := a.options("history")
	limit := o.Int("n", 0, "at most this `many`; 0 is all")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	if *limit < 0 {
		return usagef("-n %d: want a positive number, or 0 for all", *limit)
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	versions, err := allVersions(ctx, s, *limit)
	if err != nil {
		return o.refused(err)
	}
	if len(versions) == 0 {
		fmt.Fprintf(a.Err, "%s has no versions; statesrv ls lists the states\n", rest[0])
	}
	return o.print(versions, func() {
		var rows [][]string
		for _, v := range versions {
			rows = append(rows, []string{strconv.Itoa(v.Number), serialOf(v), table.Stamp(v.Time), strconv.FormatInt(v.Bytes, 10), v.Who, v.Operation, marks(v)})
		}
		a.table([]string{"VERSION", "SERIAL", "TIME", "BYTES", "WHO", "OPERATION", "NOTES"}, rows)
	})
}

func allVersions(ctx context.Context, s state, limit int) ([]statesrv.Version, error) {
	all := []statesrv.Version{}
	for before := 0; ; {
		page, err := s.Versions(ctx, before, pageLimit)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Versions...)
		if limit > 0 && len(all) >= limit {
			return all[:limit], nil
		}
		if before = page.Next; before == 0 {
			return all, nil
		}
	}
}
