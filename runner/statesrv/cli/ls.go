package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/client"
)

func (a *App) list(ctx context.Context, args []string) error {
	o := a.options("ls")
	rest, err := o.parseAny(args)
	if err != nil {
		return err
	}
	next, err := o.pages(ctx, rest)
	if err != nil {
		return err
	}
	defer next.close()
	all := []statesrv.Status{}
	for after := ""; ; {
		page, err := next.page(ctx, after)
		if err != nil {
			return o.refused(err)
		}
		all = append(all, page.States...)
		if after = page.Next; after == "" {
			break
		}
	}
	if err := o.print(all, func() { a.listTable(all) }); err != nil {
		return err
	}
	return a.tellUnreadable(all)
}

// tellUnreadable tells why states cannot be read, of which the table has only the names.
func (a *App) tellUnreadable(all []statesrv.Status) error {
	bad := 0
	for _, st := range all {
		if st.Error != "" {
			bad++
			fmt.Fprintf(a.Err, "statesrv ls: %s\n", table.Printable(st.Name+" cannot be read: "+st.Error))
		}
	}
	if bad == 0 {
		return nil
	}
	return handled{fmt.Errorf("%d states cannot be read", bad)}
}

// pager lists the states of a server or a directory.
type pager struct {
	page  func(ctx context.Context, after string) (statesrv.StatusPage, error)
	close func() error
}

func (o *options) pages(ctx context.Context, args []string) (pager, error) {
	if o.data == "" {
		if len(args) != 1 {
			return pager{}, usagef("takes one address, http://HOST:PORT, or --data DIR")
		}
		if _, err := client.NewState(args[0], client.Options{}); err == nil {
			return pager{}, usagef("%s is the address of a state: give that of the server, http://HOST:PORT; status shows one state", args[0])
		}
		conn, err := o.app.connection()
		if err != nil {
			return pager{}, err
		}
		server, err := client.NewServer(args[0], conn)
		if err != nil {
			return pager{}, usageError{err}
		}
		return pager{
			page: func(ctx context.Context, after string) (statesrv.StatusPage, error) {
				return server.List(ctx, after, pageLimit)
			},
			close: func() error { return nil },
		}, nil
	}
	if len(args) != 0 {
		return pager{}, usagef("with --data takes no address")
	}
	store, states, err := o.app.openData(ctx, o.data)
	if err != nil {
		return pager{}, err
	}
	return pager{
		page: func(ctx context.Context, after string) (statesrv.StatusPage, error) {
			return states.List(ctx, after, pageLimit, nil)
		},
		close: store.Close,
	}, nil
}

func (a *App) listTable(all []statesrv.Status) {
	var rows [][]string
	for _, st := range all {
		row := []string{st.Name, content(st), "", "", "", heldBy(st.Lock)}
		if v := st.Current; v != nil {
			row[2], row[3], row[4] = serialOf(*v), strconv.FormatInt(v.Bytes, 10), table.Stamp(v.Time)
		}
		rows = append(rows, row)
	}
	a.table([]string{"STATE", "VERSION", "SERIAL", "BYTES", "WRITTEN", "LOCKED BY"}, rows)
}
