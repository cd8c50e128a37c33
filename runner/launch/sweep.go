package launch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// Sweep judges the locks of all objects of one namespace in a few requests: pages of Leases, then pages of pods, so that
// no pod is read before the lock that names it. It is for a fleet's overview and for what a controller does when it
// starts; a pass looks again. An object that has no lock is Free.
func Sweep(ctx context.Context, c Clients, objects []naming.Object) (map[naming.Object]lock.Finding, error) {
	locks, err := c.locks(ctx)
	if err != nil {
		return nil, err
	}
	phases, err := c.phases(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[naming.Object]lock.Finding, len(objects))
	for _, o := range objects {
		f := lock.Finding{Lock: locks[naming.LockLease(naming.Suffix(o))]}
		owns := func(pod string) bool { return naming.OwnsPod(o, pod) }
		if host := f.Lock.Info.Host(); host != "" && owns(host) {
			if f.Pod = lock.PodNotFound; phases[host] != "" {
				f.Pod = phases[host]
			}
		}
		f.Verdict = lock.Judge(f.Lock, owns, f.Pod)
		found[o] = f
	}
	return found, nil
}

// locks reads every lock Lease that the backend made for an object.
func (c Clients) locks(ctx context.Context) (map[string]lock.Lock, error) {
	locks := map[string]lock.Lock{}
	opts := metav1.ListOptions{LabelSelector: naming.LabelManaged + "=true,!" + lease.LabelKind, Limit: pageSize}
	for {
		list, err := c.Leases.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list the locks: %w", err)
		}
		for i := range list.Items {
			locks[list.Items[i].Name] = lock.FromLease(&list.Items[i])
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return locks, nil
		}
	}
}

// phases reads every pod of a Job of ours.
func (c Clients) phases(ctx context.Context) (map[string]lock.PodPhase, error) {
	phases := map[string]lock.PodPhase{}
	opts := metav1.ListOptions{LabelSelector: naming.LabelManaged + "=true," + LabelOp, Limit: pageSize}
	for {
		list, err := c.Pods.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list the pods: %w", err)
		}
		for i := range list.Items {
			// An empty phase is one that has not started: it may hold nothing, but it is not gone.
			phases[list.Items[i].Name] = lock.PodPhase(list.Items[i].Status.Phase)
			if phases[list.Items[i].Name] == "" {
				phases[list.Items[i].Name] = lock.PodPending
			}
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return phases, nil
		}
	}
}
