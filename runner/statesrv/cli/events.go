package cli

import (
	"context"
	"fmt"
	"time"

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
	for after := ""; ; {
		page, err := s.Events(ctx, after, pageLimit)
		if err != nil && ctx.Err() == nil {
			return o.refused(err)
		}
		if err := a.printEvents(o, page.Events); err != nil {
			return err
		}
		if page.Unreadable > 0 {
			fmt.Fprintf(a.Err, "%d lines of the log are no events, and are left out: a crash or a person has left them\n", page.Unreadable)
		}
		after = page.Next
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

// printEvents prints one line for each event.
func (a *App) printEvents(o *options, events []statesrv.Event) error {
	for _, ev := range events {
		err := o.print(ev, func() {
			fmt.Fprintf(a.Out, "%s  %-12s  %-24s  %s\n", stamp(ev.Time), ev.Action, orDash(printable(callerOf(ev))), printable(outcome(ev)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func callerOf(ev statesrv.Event) string {
	for _, name := range []string{ev.Who, ev.By.User, ev.By.Addr} {
		if name != "" {
			return name
		}
	}
	return ""
}

func outcome(ev statesrv.Event) string {
	var text string
	switch {
	case ev.Refused != "":
		return fmt.Sprintf("refused (%d): %s", ev.Status, ev.Refused)
	case ev.Version != 0:
		text = fmt.Sprintf("version %d (serial %d)", ev.Version, ev.Serial)
	case ev.Action == statesrv.ActionForceUnlock:
		text = fmt.Sprintf("broke lock %s of %s", ev.Holder, orDash(ev.HolderWho))
	case ev.Action == statesrv.ActionPrune:
		return ev.Note
	case ev.LockID != "":
		text = "lock " + ev.LockID
	}
	if ev.Note != "" {
		text += "; " + ev.Note
	}
	return text
}
