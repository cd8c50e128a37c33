package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/captf/captf-runner/internal/plural"
	"github.com/captf/captf-runner/runner/statesrv"
	"github.com/captf/captf-runner/runner/statesrv/store"
)

// copy brings all states of one store to another, without a server.
func (a *App) copy(ctx context.Context, args []string) error {
	o := a.printing("copy")
	locked := o.Bool("with-locks", false, "copy locked states too, with their locks")
	rest, err := o.parse(args, 2)
	if err != nil {
		return err
	}
	if rest[0] == memoryStore || rest[1] == memoryStore {
		return usagef("%s ends with the process: there is nothing to copy from it, and nothing would be left of a copy", memoryStore)
	}
	if err := apart(rest[0], rest[1]); err != nil {
		return err
	}
	from, closeFrom, err := openExisting(ctx, rest[0], a.Getenv)
	if err != nil {
		return err
	}
	defer closeFrom()
	to, closeTo, err := openStore(ctx, rest[1], a.Getenv)
	if err != nil {
		return err
	}
	defer closeTo()
	if err := store.Prove(ctx, to); err != nil {
		return fmt.Errorf("store %s: %w", rest[1], err)
	}
	count := 0
	err = statesrv.Copy(ctx, statesrv.NewStates(from, statesrv.Rules{}), statesrv.NewStates(to, statesrv.Rules{}),
		statesrv.CopyOptions{Locked: *locked, Tell: func(c statesrv.CopiedState) {
			count++
			_ = o.print(c, func() { fmt.Fprintln(a.Out, copiedLine(c)) })
		}})
	if err != nil {
		return o.refused(err)
	}
	if count == 0 { // a mistyped prefix or namespace looks like an empty store
		return fmt.Errorf("%s has no states: see the address", rest[0])
	}
	if o.output == tableOutput {
		fmt.Fprintf(a.Out, "copied %d %s to %s, every version verified by its digest\n", count, plural.Of("state", count), rest[1])
	}
	return nil
}

// apart refuses two stores of which one is in the other: its records would be taken
// for states.
func apart(from, to string) error {
	a, errA := wholePath(from)
	b, errB := wholePath(to)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/") {
		return usagef("%s and %s are in one another: copy to a place of its own", from, to)
	}
	return nil
}

// wholePath is a store's address without what may be said in several ways.
func wholePath(address string) (string, error) {
	name, ok := strings.CutPrefix(address, "dir:")
	if !ok {
		u, err := url.Parse(address)
		if err != nil {
			return address, nil // who opens it says what is wrong
		}
		return u.Scheme + "://" + path.Join(u.Host, u.Path), nil
	}
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	// What is not there yet is in a directory that may have other names.
	for dir, rest := whole, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			return "dir:" + filepath.Join(real, rest), nil
		}
	}
}

func copiedLine(c statesrv.CopiedState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d %s, %d %s", c.Name, c.Versions, plural.Of("version", c.Versions), c.Events, plural.Of("event", c.Events))
	if c.Pruned > 0 {
		fmt.Fprintf(&b, ", %d pruned", c.Pruned)
	}
	if len(c.Damaged) > 0 {
		fmt.Fprintf(&b, ", %d damaged and left out", len(c.Damaged))
	}
	if c.Already {
		b.WriteString("; was there already")
	}
	return b.String()
}
