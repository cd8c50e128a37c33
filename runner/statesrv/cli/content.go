package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

func (a *App) push(ctx context.Context, args []string) error {
	o := a.options("push")
	id := o.String("id", "", "`ID` of the lock that you hold")
	force := o.Bool("force", false, "do not compare serial and lineage; the event says so")
	rest, err := o.parse(args, 2)
	if err != nil {
		return err
	}
	data, err := a.readFile(rest[1])
	if err != nil {
		return err
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	w, err := s.Push(ctx, statesrv.WriteRequest{Body: data, ID: *id, Force: *force})
	if err != nil {
		return o.refused(err)
	}
	return o.print(w, func() {
		if w.Unchanged {
			fmt.Fprintf(a.Out, "unchanged: it is version %d (serial %s) already\n", w.Version.Number, table.OrDash(serialOf(w.Version)))
			return
		}
		fmt.Fprintf(a.Out, "stored version %d (serial %s)\n", w.Version.Number, table.OrDash(serialOf(w.Version)))
	})
}

func (a *App) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(name)
}

func (a *App) pull(ctx context.Context, args []string) error {
	o := a.options("pull")
	version := o.version("`number` of an older version")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	body, err := s.Pull(ctx, *version)
	if err != nil {
		return o.refused(err)
	}
	defer body.Close()
	if _, err := io.Copy(a.Out, body); err != nil {
		if lost := a.written(); lost != nil {
			return lost
		}
		return fmt.Errorf("the output is not complete: %w", err)
	}
	return nil
}

func (a *App) restore(ctx context.Context, args []string) error {
	o := a.options("restore")
	version := o.version("`number` of the version to bring back")
	id := o.String("id", "", "`ID` of the lock that you hold")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	if *version == 0 {
		return usagef("--version is needed; statesrv history lists the versions")
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	v, err := s.Restore(ctx, statesrv.RestoreRequest{Version: *version, ID: *id, Who: a.Who})
	if err != nil {
		return o.refused(err)
	}
	return o.print(v, func() {
		fmt.Fprintf(a.Out, "version %d is now version %d (serial %d)\n", *version, v.Number, v.Serial)
	})
}
