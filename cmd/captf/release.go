package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// permission is what a person says about a lock to release.
type permission struct {
	id      string
	foreign bool
}

func (a *app) newLockReleaseCommand() *cobra.Command {
	which, out, may := &objectFlags{}, &output{}, permission{}
	c := &cobra.Command{
		Use: "release OBJECT", Short: "Release a lock whose holder is dead",
		Long: `Release a lock whose holder is dead. A stale lock, whose holder was a pod of the object's own Jobs that is
gone or has ended, is released at once. Any other one is released only with --foreign and its ID: then you are the
one who says that its holder is dead. Released is exactly the lock that was looked at, and no other one.`,
		Args: which.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			cl, o, err := a.object(c.Context(), which, args)
			if err != nil {
				return err
			}
			return a.release(c.Context(), cl, o, may, out)
		},
	}
	which.flags(c)
	out.flags(c)
	c.Flags().StringVar(&may.id, "id", "", "the lock's ID, as lock show prints it")
	c.Flags().BoolVar(&may.foreign, "foreign", false, "release it although its holder may be alive; needs --id")
	return c
}

// releaseView is what became of a lock.
type releaseView struct {
	Outcome lock.Outcome `json:"outcome"`
	Lock    lockView     `json:"lock"` // as it was
}

func (a *app) release(ctx context.Context, cl *cluster, o naming.Object, may permission, out *output) error {
	if may.foreign && may.id == "" {
		return usagef("--foreign needs --id, the lock's ID as lock show prints it")
	}
	found, err := cl.checkLock(ctx, o)
	if err != nil {
		return err
	}
	if err := cl.known(ctx, o, found); err != nil {
		return err
	}
	v := viewLock(o, found, cl.programs)
	if err := allowed(found, may); err != nil {
		_ = table.Write(a.streams.ErrOut, nil, v.rows(a.now())) // the error follows
		return fmt.Errorf("release the lock of %s: %w", v.Object, err)
	}
	done, err := lock.Release(ctx, cl.client.CoordinationV1().Leases(cl.namespace), v.Lease, found.Lock.ID())
	if err != nil {
		return err
	}
	if done.Outcome == lock.HeldByOther {
		return fmt.Errorf("release the lock of %s: %s took it meanwhile: it was left alone", v.Object, done.Holder)
	}
	return a.print(out, releaseView{done.Outcome, v}, func() error {
		_, err := fmt.Fprintf(a.streams.Out, "%s\n", table.Printable(released(done.Outcome, v)))
		return err
	})
}

var (
	errOtherID = errors.New("it is held under another ID than --id")
	errAlive   = errors.New("its holder lives")
	errNotDead = errors.New("nothing proves that its holder is dead: it is not released without --foreign and --id")
)

// allowed decides whether a person may release a lock.
func allowed(f lock.Finding, may permission) error {
	switch {
	case !f.Lock.Held():
		return nil
	case may.id != "" && may.id != f.Lock.ID():
		return errOtherID
	case f.Verdict == lock.Stale, may.foreign && may.id != "":
		return nil
	}
	if f.Verdict == lock.Alive {
		return fmt.Errorf("%w: pod %s holds it and has not ended: wait for it, or delete it", errAlive, f.Lock.Info.Host())
	}
	return errNotDead
}

func released(outcome lock.Outcome, v lockView) string {
	if outcome == lock.AlreadyUnlocked {
		return "nobody holds the lock of " + v.Object
	}
	return fmt.Sprintf("released the lock %s of %s, which %s held for %s", v.ID, v.Object, table.OrDash(v.Who), table.OrDash(v.Operation))
}
