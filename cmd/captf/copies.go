package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/backup"
)

// copyView is a backup or a rescue set, as it is shown.
type copyView struct {
	Name     string        `json:"name"`
	Origin   backup.Origin `json:"origin"`
	Serial   uint64        `json:"serial"`
	Lineage  string        `json:"lineage"`
	Time     time.Time     `json:"time"`
	Complete bool          `json:"complete"`
	Secrets  int           `json:"secrets"`
	Size     int64         `json:"compressedBytes"`
	Digest   string        `json:"digest"`
}

func viewCopies(sets []backup.Set, only func(backup.Set) bool) []copyView {
	views := []copyView{}
	for _, s := range sets {
		if only == nil || only(s) {
			views = append(views, viewCopy(s))
		}
	}
	return views
}

func viewCopy(s backup.Set) copyView {
	return copyView{
		Name: s.Name, Origin: s.Origin, Serial: s.Serial, Lineage: s.Lineage, Time: s.Time, Complete: s.Complete(),
		Secrets: len(s.Secrets()), Size: s.Size, Digest: "sha256:" + s.Digest,
	}
}

func isRescue(s backup.Set) bool { return s.Origin == backup.Rescue }

func (a *app) newRescueCommand() *cobra.Command {
	return a.newCopiesCommand("rescue", "List the states that runs could not save where they belong", isRescue)
}

// newCopiesCommand lists those copies that only selects, all when it is nil.
func (a *app) newCopiesCommand(name, short string, only func(backup.Set) bool) *cobra.Command {
	which, out := &objectFlags{}, &output{}
	c := &cobra.Command{
		Use: name + " OBJECT", Short: short, Args: which.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			cl, o, err := a.object(c.Context(), which, args)
			if err != nil {
				return err
			}
			sets, err := cl.copies().List(c.Context(), o)
			if err == nil && len(sets) == 0 {
				err = cl.namespaceExists(c.Context())
			}
			if err != nil {
				return err
			}
			views := viewCopies(sets, only)
			return a.print(out, views, func() error { return a.copyTable(out, views, cl.none(c.Context(), o, len(sets), noCopy[name])) })
		},
	}
	which.flags(c)
	out.listFlags(c)
	return c
}

var noCopy = map[string]string{"backups": "No backup, and no rescue set.", "rescue": "No rescue set."}

func (a *app) copyTable(out *output, views []copyView, none string) error {
	var rows [][]string
	for _, v := range views {
		rows = append(rows, []string{
			v.Name, string(v.Origin), strconv.FormatUint(v.Serial, 10), v.Lineage, duration.HumanDuration(a.now().Sub(v.Time)),
			strconv.FormatInt(v.Size, 10), incomplete(v.Complete),
		})
	}
	return a.list(out, []string{"NAME", "ORIGIN", "SERIAL", "LINEAGE", "AGE", "BYTES", "COMPLETE"}, rows, none)
}

func incomplete(complete bool) string {
	if complete {
		return "yes"
	}
	return "no: it cannot be restored"
}

// backupView is what a backup came to.
type backupView struct {
	Made   bool     `json:"made"` // false when there was one already
	Backup copyView `json:"backup"`
}

func (a *app) newBackupCommand() *cobra.Command {
	which, out := &objectFlags{}, &output{}
	c := &cobra.Command{
		Use: "backup OBJECT", Short: "Copy a state, so that it can be restored",
		Args: which.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			cl, o, err := a.objectInCluster(c.Context(), which, args)
			if err != nil {
				return err
			}
			from, err := cl.chunks().Gather(c.Context(), o)
			if err != nil {
				return err
			}
			set, made, err := cl.copies().Take(c.Context(), from)
			if errors.Is(err, state.NotFound) {
				err = cmp.Or(cl.copies().CheckMissing(c.Context(), o), err) // it may be lost
			}
			if err != nil {
				return cl.withNames(c.Context(), o, err)
			}
			return a.print(out, backupView{made, viewCopy(set)}, func() error { return a.backupText(set, made) })
		},
	}
	which.flags(c)
	out.flags(c)
	return c
}

func (a *app) backupText(set backup.Set, made bool) error {
	text := "backed up as %s (serial %d)"
	if !made {
		text = "there is a backup already: %s (serial %d)"
	}
	_, err := fmt.Fprintln(a.streams.Out, table.Printable(fmt.Sprintf(text, set.Name, set.Serial)))
	return err
}
