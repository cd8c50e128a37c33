package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

// events prints page after page, and with -f goes on until ctx is done.
func (a *App) events(ctx context.Context, args []string) error {
	o := a.options("events")
	follow := o.Bool("f", false, "go on with new events as they come")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	out := outage{tell: a.Err}
	for after := ""; ; {
		page, err := s.Events(ctx, after, pageLimit)
		if err != nil && ctx.Err() == nil && !(*follow && out.passes(err)) {
			return o.refused(err)
		}
		if err == nil {
			out.over()
		}
		if err := a.printEvents(o, page.Events); err != nil {
			return err
		}
		if page.Unreadable > 0 {
			fmt.Fprintf(a.Err, "%d lines of the log are no events, and are left out: a crash or a person has left them\n", page.Unreadable)
		}
		if err == nil {
			after = page.Next
		}
		if len(page.Events) > 0 {
			continue
		}
		if !*follow {
			if after == "" {
				fmt.Fprintf(a.Err, "%s has no events; statesrv ls lists the states\n", rest[0])
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// outage is a time in which who follows the events gets no answer, as while the server
// starts again.
type outage struct {
	tell      io.Writer
	answered  bool // once, so that the address and the credentials are right
	suffering bool
}

// passes reports whether it is worth to ask again after err, and tells of it once.
func (o *outage) passes(err error) bool {
	if !o.answered || errors.As(err, new(*statesrv.Refusal)) || errors.Is(err, statesrv.ErrDamaged) {
		return false
	}
	if !o.suffering {
		fmt.Fprintf(o.tell, "%s; it goes on as soon as there is an answer again\n", table.Printable(err.Error()))
	}
	o.suffering = true
	return true
}

func (o *outage) over() { o.answered, o.suffering = true, false }

// printEvents prints one line for each event.
func (a *App) printEvents(o *options, events []statesrv.Event) error {
	for _, ev := range events {
		err := o.print(ev, func() {
			fmt.Fprintf(a.Out, "%s  %-12s  %-24s  %s\n", table.Stamp(ev.Time), ev.Action, table.OrDash(table.Printable(callerOf(ev))), table.Printable(outcome(ev)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// callerOf is what the caller says of itself, and as whom it has logged in.
func callerOf(ev statesrv.Event) string {
	switch user := ev.By.User; {
	case ev.Who == "" && user == "":
		return ev.By.Addr
	case ev.Who == "":
		return user
	case user == "" || user == ev.Who:
		return ev.Who
	default:
		return fmt.Sprintf("%s (user %s)", ev.Who, user)
	}
}

func outcome(ev statesrv.Event) string {
	var text string
	switch {
	case ev.Refused != "":
		return fmt.Sprintf("refused (%d): %s", ev.Status, ev.Refused)
	case ev.Version != 0:
		text = fmt.Sprintf("version %d (serial %d)", ev.Version, ev.Serial)
	case ev.Action == statesrv.ActionForceUnlock:
		text = fmt.Sprintf("broke lock %s of %s", ev.Holder, table.OrDash(ev.HolderWho))
	case ev.Action == statesrv.ActionPrune:
		return ev.Note
	case ev.LockID != "":
		text = "lock " + ev.LockID
		if ev.HolderWho != "" && ev.HolderWho != ev.Who {
			text += " of " + ev.HolderWho
		}
	}
	if ev.Note != "" {
		text += "; " + ev.Note
	}
	return text
}
