package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// leaseView is a lease, as it is shown.
type leaseView struct {
	Name            string       `json:"name"`
	Kind            string       `json:"kind"`  // run or cluster
	Owner           string       `json:"owner"` // the object that took it
	Cluster         string       `json:"cluster,omitempty"`
	Op              string       `json:"op,omitempty"`
	Job             string       `json:"job,omitempty"` // the holder
	Status          lease.Status `json:"status"`
	Why             string       `json:"why"`
	AcquiredAt      time.Time    `json:"acquiredAt"`
	BackstopSeconds int64        `json:"backstopSeconds"`
}

func (a *app) newLeaseCommand() *cobra.Command {
	return a.group("lease", "Show who may start a Job", a.newLeaseShowCommand())
}

func (a *app) newLeaseShowCommand() *cobra.Command {
	which, out := &objectFlags{}, &output{}
	c := &cobra.Command{
		Use: "show [OBJECT]", Short: "Show the leases of an object and its cluster, or all of a namespace",
		ValidArgsFunction: a.completeObject,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return which.args(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			cl, views, none, err := a.showLeases(c.Context(), which, args)
			if err == nil && len(views) == 0 {
				err = cl.namespaceExists(c.Context())
			}
			if err != nil {
				return err
			}
			return a.print(out, views, func() error { return a.leaseTable(out, views, none) })
		},
	}
	which.flags(c)
	out.listFlags(c)
	return c
}

// showLeases returns the leases, and what to say if there is none.
func (a *app) showLeases(ctx context.Context, which *objectFlags, args []string) (*cluster, []leaseView, string, error) {
	if len(args) == 0 && which.suffix == "" {
		cl, err := a.connect()
		if err != nil {
			return nil, nil, "", err
		}
		views, err := cl.allLeases(ctx, a.now())
		return cl, views, "No lease: nothing keeps a Job from being started.", err
	}
	cl, o, err := a.objectInCluster(ctx, which, args)
	if err != nil {
		return nil, nil, "", err
	}
	views, err := cl.leasesOf(ctx, o, a.now())
	return cl, views, cl.none(ctx, o, len(views), "No lease: "+noLease(o)+"."), err
}

// noLease is what it means that there is no lease.
func noLease(o naming.Object) string {
	if o.Cluster == "" {
		return "nothing keeps a Job from being started, unless it is in a cluster: none is named here (--cluster-name)"
	}
	return "nothing keeps a Job from being started"
}

func (a *app) leaseTable(out *output, views []leaseView, none string) error {
	var rows [][]string
	for _, v := range views {
		rows = append(rows, []string{
			v.Kind, v.Owner, v.Cluster, v.Op, string(v.Status), duration.HumanDuration(a.now().Sub(v.AcquiredAt)), v.Job, v.Why,
		})
	}
	return a.list(out, []string{"LEASE", "OWNER", "CLUSTER", "OP", "STATUS", "AGE", "JOB", "WHY"}, rows, none)
}

// allLeases judges every lease of the namespace.
func (cl *cluster) allLeases(ctx context.Context, now time.Time) ([]leaseView, error) {
	list, err := cl.client.CoordinationV1().Leases(cl.namespace).List(ctx, metav1.ListOptions{LabelSelector: lease.LabelKind})
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	views := []leaseView{}
	for i := range list.Items {
		v, err := cl.viewLease(ctx, &list.Items[i], now)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b leaseView) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Owner, b.Owner))
	})
	return views, nil
}

// leasesOf judges what an object's Job may have to wait for: its run lease, the write lease of its cluster, and, for a
// cluster, its machines that are being changed. One that does not exist is left out.
func (cl *cluster) leasesOf(ctx context.Context, o naming.Object, now time.Time) ([]leaseView, error) {
	names := []string{naming.RunLease(naming.Suffix(o))}
	if o.Cluster != "" {
		names = append(names, naming.ClusterLease(o.Namespace, o.Cluster))
	}
	views := []leaseView{}
	for _, name := range names {
		l, err := cl.client.CoordinationV1().Leases(cl.namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case absent.Is(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("get lease %s: %w", name, err)
		}
		v, err := cl.viewLease(ctx, l, now)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	members, err := cl.busyMembers(ctx, o, now)
	return append(views, members...), err
}

// busyMembers judges the run leases that a change of a cluster waits for.
func (cl *cluster) busyMembers(ctx context.Context, o naming.Object, now time.Time) ([]leaseView, error) {
	if o.Kind != naming.Cluster || o.Cluster == "" {
		return nil, nil
	}
	selector, err := lease.Members(o)
	if err != nil {
		return nil, err
	}
	list, err := cl.client.CoordinationV1().Leases(cl.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list leases of the machines of cluster %s: %w", o.Cluster, err)
	}
	var busy []leaseView
	for i := range list.Items {
		if !lease.FromLease(&list.Items[i]).Mutates() {
			continue
		}
		v, err := cl.viewLease(ctx, &list.Items[i], now)
		if err != nil {
			return nil, err
		}
		if v.Status == lease.Live {
			busy = append(busy, v)
		}
	}
	return busy, nil
}

// viewLease reads the holder after the lease, and judges.
func (cl *cluster) viewLease(ctx context.Context, l *coordinationv1.Lease, now time.Time) (leaseView, error) {
	r := lease.FromLease(l)
	var job lease.Job
	if r.Job != "" {
		var err error
		if job, err = cl.Holder(ctx, r.Job); err != nil {
			return leaseView{}, fmt.Errorf("lease %s: read its Job %s: %w", r.Name, r.Job, err)
		}
	}
	v := leaseView{
		Name: r.Name, Kind: r.Kind, Owner: shortKind(r.Owner) + "/" + l.Labels[naming.LabelOwnerName], Cluster: l.Labels[naming.LabelCluster],
		Op: string(r.Op), Job: r.Job, Status: lease.Judge(r, job, now), AcquiredAt: r.AcquiredAt, BackstopSeconds: int64(r.Backstop.Seconds()),
	}
	v.Why = whyLease(v.Status, r, job, now)
	return v, nil
}

// whyLease is what a status was based on.
func whyLease(status lease.Status, r lease.Record, job lease.Job, now time.Time) string {
	left := func(end time.Time) string { return duration.HumanDuration(end.Sub(now)) }
	switch status {
	case lease.Unheld:
		return "free: it has no holder"
	case lease.Expired:
		return "free: it is older than its backstop of " + duration.HumanDuration(r.Backstop)
	case lease.Done:
		return "free: its Job has finished, and none of its pods runs"
	case lease.Abandoned:
		return "free: its Job does not exist, and the grace of " + duration.HumanDuration(lease.Grace) + " is over"
	}
	switch {
	case job.PodRuns && !job.Exists:
		return "held: its Job is deleted, and a pod of it still runs"
	case job.Suspended:
		return "held: its Job is suspended: resume it, or delete it"
	case job.Exists:
		return "held: its Job is not finished; at the latest in " + left(r.Ends(job)) + " it counts no more"
	}
	return "held: its Job does not exist yet; without one it is free in " + left(r.AcquiredAt.Add(lease.Grace))
}
