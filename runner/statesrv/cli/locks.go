package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/statesrv"
)

func (a *App) lock(ctx context.Context, args []string) error {
	o := a.options("lock")
	who := o.String("who", a.Who, "holder's `name`")
	operation := o.String("operation", "manual", "`reason` for the lock")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	info := statesrv.LockInfo{
		ID: newLockID(), Who: *who, Operation: *operation,
		Version: "statesrv " + a.Version, Created: time.Now().UTC().Format(time.RFC3339Nano),
	}
	if err := s.Lock(ctx, info); err != nil {
		return o.refused(err)
	}
	if err := o.print(info, func() { fmt.Fprintln(a.Out, info.ID) }); err != nil {
		return fmt.Errorf("the lock is taken, and its ID is %s; %w", info.ID, err)
	}
	return nil
}

// newLockID returns a random ID in the shape of the clients' own.
func newLockID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (a *App) unlock(ctx context.Context, args []string) error {
	o := a.options("unlock")
	id := o.String("id", "", "lock's `ID`, as lock printed it")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	if *id == "" {
		return usagef("--id is needed; for a lock whose ID is lost there is force-unlock --any")
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	held, err := s.Unlock(ctx, statesrv.LockInfo{ID: *id, Who: a.Who})
	if err != nil {
		return o.refused(err)
	}
	return o.print(unlocked{held}, func() {
		if !held {
			fmt.Fprintln(a.Out, "was not locked")
			return
		}
		fmt.Fprintln(a.Out, "unlocked")
	})
}

// unlocked is what unlock -o json prints.
type unlocked struct {
	// Held is false if the state was not locked.
	Held bool `json:"held"`
}

func (a *App) forceUnlock(ctx context.Context, args []string) error {
	o := a.options("force-unlock")
	id := o.String("id", "", "`ID` of the lock to break")
	anyLock := o.Bool("any", false, "break whatever lock is held")
	yes := o.Bool("yes", false, "with --any, do not ask; who names the ID is not asked")
	rest, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	if (*id == "") == !*anyLock {
		return usagef("either --id or --any is needed")
	}
	s, err := o.state(ctx, rest[0])
	if err != nil {
		return err
	}
	defer s.Close()
	if *anyLock && !*yes {
		if err := a.confirm(ctx, s); err != nil {
			return err
		}
	}
	broken, err := s.ForceUnlock(ctx, statesrv.ForceUnlockRequest{ID: *id, Any: *anyLock, Who: a.Who})
	if err != nil {
		return o.refused(err)
	}
	return o.print(broken, func() {
		if broken == nil {
			fmt.Fprintln(a.Out, "was not locked")
			return
		}
		fmt.Fprintf(a.Out, "broke lock %s, held by %s\n", table.Printable(broken.Info.ID), table.Printable(heldBy(broken)))
	})
}

// confirm asks before a lock is broken whose ID the caller does not know.
func (a *App) confirm(ctx context.Context, s state) error {
	st, err := s.Status(ctx)
	if err != nil || st.Lock == nil {
		return err
	}
	if !a.Terminal {
		return usagef("--any without --yes needs a terminal to ask on")
	}
	fmt.Fprintf(a.Err, "State %s is locked by %s.\nIf that is still running, its writes will be refused. Type yes to break the lock: ",
		st.Name, table.Printable(heldBy(st.Lock)))
	answer, _ := bufio.NewReader(a.In).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return fmt.Errorf("left alone")
	}
	return nil
}
