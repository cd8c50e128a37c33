package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// listView is one object in a list.
type listView struct {
	Object    string       `json:"object"` // empty when its labels do not name it
	Namespace string       `json:"namespace"`
	Cluster   string       `json:"cluster,omitempty"`
	Suffix    string       `json:"suffix"`
	Secrets   int          `json:"secrets"`
	Backups   int          `json:"backups"` // and rescue sets
	Lock      lock.Verdict `json:"lock"`
	Job       string       `json:"job,omitempty"` // the holder of the run lease
	Created   *time.Time   `json:"created,omitempty"`
	State     *stateView   `json:"state,omitempty"` // with -o wide only
}

func (a *app) newStateListCommand() *cobra.Command {
	all, out := false, &output{}
	c := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the states of a namespace, with their locks and running Jobs",
		Long: `List the states of a namespace, with their locks and running Jobs. The states themselves are read with -o wide only.`,
		Args: exactArgs(0, "no argument"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := a.connect()
			if err != nil {
				return err
			}
			if all {
				cl.namespace = metav1.NamespaceAll
			}
			views, err := cl.list(c.Context(), out.wide())
			if err == nil && len(views) == 0 {
				err = cl.namespaceExists(c.Context())
			}
			if err != nil {
				return err
			}
			return a.print(out, views, func() error { return a.listTable(out, views, all) })
		},
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the states of all namespaces")
	out.listFlags(c, asWide)
	return c
}

func (cl *cluster) list(ctx context.Context, read bool) ([]listView, error) {
	all, err := cl.inventory(ctx)
	if err != nil {
		return nil, err
	}
	views := []listView{}
	for _, e := range all {
		v, err := cl.in(e.object.Namespace).viewEntry(ctx, e, read)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// in is the same cluster in another namespace.
func (cl *cluster) in(namespace string) *cluster {
	other := *cl
	other.namespace, other.Clients = namespace, launch.NewClients(cl.client, namespace)
	return &other
}

func (cl *cluster) viewEntry(ctx context.Context, e *entry, read bool) (listView, error) {
	v := listView{
		Namespace: e.object.Namespace, Cluster: e.object.Cluster, Suffix: e.suffix, Secrets: len(e.chunks), Backups: len(e.copies), Created: e.created(),
	}
	if e.run != nil {
		v.Job = lease.FromLease(e.run).Job
	}
	var err error
	if v.Lock, err = cl.verdict(ctx, e); err != nil || !e.exact() {
		return v, err
	}
	v.Object = objectName(e.object)
	if read && len(e.chunks)+len(e.copies) > 0 { // of copies alone it may be lost
		s, err := cl.readState(ctx, e.object, nil)
		v.State = &s
		return v, err
	}
	return v, nil
}

// verdict judges the lock in a list; the pod is read after it, as it has to be.
func (cl *cluster) verdict(ctx context.Context, e *entry) (lock.Verdict, error) {
	l := lock.FromLease(e.lock)
	if !l.Held() {
		return lock.Free, nil
	}
	found, err := cl.checkLock(ctx, e.object)
	if err != nil || !e.exact() {
		return lock.Foreign, err
	}
	return found.Verdict, nil
}

// created is when the oldest Secret of the state was made.
func (e *entry) created() *time.Time {
	var oldest *time.Time
	for _, s := range e.chunks {
		if t := s.CreationTimestamp.Time; oldest == nil || t.Before(*oldest) {
			oldest = &t
		}
	}
	return oldest
}

func (a *app) listTable(out *output, views []listView, all bool) error {
	heading := []string{"OBJECT", "CLUSTER", "SECRETS", "BACKUPS", "LOCK", "JOB", "AGE"}
	if all {
		heading = append([]string{"NAMESPACE"}, heading...)
	}
	if out.wide() {
		heading = append(heading, "READABLE", "SERIAL", "RESOURCES", "SUFFIX")
	}
	var rows [][]string
	for _, v := range views {
		rows = append(rows, v.row(a.now(), all, out.wide()))
	}
	return a.list(out, heading, rows, "No state: nothing here has the label "+naming.LabelManaged+"=true.")
}

func (v listView) row(now time.Time, all, wide bool) []string {
	name, age := v.Object, ""
	if name == "" {
		name = "--suffix " + v.Suffix
	}
	if v.Created != nil {
		age = duration.HumanDuration(now.Sub(*v.Created))
	}
	row := []string{name, v.Cluster, strconv.Itoa(v.Secrets), strconv.Itoa(v.Backups), string(v.Lock), v.Job, age}
	if all {
		row = append([]string{v.Namespace}, row...)
	}
	if wide {
		row = append(row, v.State.wide()...)
		row = append(row, v.Suffix)
	}
	return row
}

// wide is empty for a state that was not read.
func (v *stateView) wide() []string {
	switch {
	case v == nil:
		return []string{"", "", ""}
	case v.Summary == nil:
		return []string{v.Reason, "", ""}
	case v.Summary.Resources == nil:
		return []string{v.Reason, strconv.FormatUint(v.Summary.Serial, 10), ""}
	}
	return []string{v.Reason, strconv.FormatUint(v.Summary.Serial, 10), strconv.Itoa(*v.Summary.Resources)}
}
