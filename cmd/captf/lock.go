package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/captf/captf-runner/internal/shell"
	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

func (a *app) newLockCommand() *cobra.Command {
	return a.group("lock", "Show or release the lock on a state", a.newLockShowCommand(), a.newLockReleaseCommand())
}

// lockView is a lock, as it is shown.
type lockView struct {
	Object    string       `json:"object"`
	Namespace string       `json:"namespace"`
	Lease     string       `json:"lease"`
	Verdict   lock.Verdict `json:"verdict"`
	Why       string       `json:"why"`
	ID        string       `json:"id,omitempty"`
	Who       string       `json:"who,omitempty"`
	Operation string       `json:"operation,omitempty"`
	Created   *time.Time   `json:"created,omitempty"`
	Version   string       `json:"version,omitempty"` // of the runtime that holds it
	Info      string       `json:"info,omitempty"`
	Pod       string       `json:"pod,omitempty"` // the holder, where it is one of the object's own
	PodPhase  string       `json:"podPhase,omitempty"`
	Next      string       `json:"next"`
}

func viewLock(o naming.Object, f lock.Finding, p programs) lockView {
	v := lockView{
		Object: objectName(o), Namespace: o.Namespace, Lease: naming.LockLease(naming.Suffix(o)), Verdict: f.Verdict,
		ID: f.Lock.ID(), Who: f.Lock.Info.Who, Operation: f.Lock.Info.Operation, Version: f.Lock.Info.Version, Info: f.Lock.Info.Info,
		PodPhase: string(f.Pod),
	}
	if f.Pod != "" {
		v.Pod = f.Lock.Info.Host()
	}
	if created := f.Lock.Info.Created; !created.IsZero() {
		v.Created = &created
	}
	v.Why = whyVerdict(f)
	v.Next = nextForLock(v, f.Lock.EmptyHolder, p)
	return v
}

// whyVerdict is what a verdict was based on.
func whyVerdict(f lock.Finding) string {
	host := f.Lock.Info.Host()
	switch {
	case f.Verdict == lock.Free && f.Lock.EmptyHolder:
		return "its holder is the empty string, which no runtime can take or release"
	case f.Verdict == lock.Free:
		return "nobody holds it"
	case f.Verdict == lock.Alive:
		return fmt.Sprintf("its holder, pod %s, is one of the object's own Jobs and in phase %s", host, f.Pod)
	case f.Verdict == lock.Stale && f.Pod == lock.PodNotFound:
		return fmt.Sprintf("its holder, pod %s, was one of the object's own Jobs and does not exist any more", host)
	case f.Verdict == lock.Stale:
		return fmt.Sprintf("its holder, pod %s, is one of the object's own Jobs and has ended: %s", host, f.Pod)
	case f.Lock.InfoErr != nil:
		return fmt.Sprintf("nothing tells who holds it: %v", f.Lock.InfoErr)
	case host == "":
		return "its holder names no host"
	}
	return fmt.Sprintf("its holder's host, %s, is not a pod of the object's own Jobs: a workstation, another CI job or another object", host)
}

// nextForLock is what to do about a lock.
func nextForLock(v lockView, emptyHolder bool, p programs) string {
	release := fmt.Sprintf("%s lock release %s -n %s", p.captf, v.Object, v.Namespace)
	switch {
	case emptyHolder:
		return "repair it: " + release
	case v.Verdict == lock.Free:
		return "nothing"
	case v.Verdict == lock.Alive:
		return "wait for it, and follow it: " + p.kubectl + " logs -f -n " + v.Namespace + " " + v.Pod
	case v.Verdict == lock.Stale:
		return "nothing: the next Job releases it; or do it now: " + release
	}
	return fmt.Sprintf("ask %s; only when it is certain that this holder is dead: %s --foreign --id %s", unknownWhen(v.Who), release, shell.Quote(v.ID))
}

func unknownWhen(who string) string {
	if who == "" {
		return "around"
	}
	return who
}

// checkLock reads the lock and judges it.
func (cl *cluster) checkLock(ctx context.Context, o naming.Object) (lock.Finding, error) {
	owns := func(pod string) bool { return naming.OwnsPod(o, pod) }
	return lock.Check(ctx, cl.client.CoordinationV1().Leases(cl.namespace), naming.LockLease(naming.Suffix(o)), owns, cl.Phase)
}

func (a *app) newLockShowCommand() *cobra.Command {
	which, out := &objectFlags{}, &output{}
	c := &cobra.Command{
		Use: "show OBJECT", Short: "Show who holds the lock on a state, and whether that holder is dead",
		Args: which.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			cl, o, err := a.object(c.Context(), which, args)
			if err != nil {
				return err
			}
			found, err := cl.checkLock(c.Context(), o)
			if err != nil {
				return err
			}
			if err := cl.known(c.Context(), o, found); err != nil {
				return err
			}
			v := viewLock(o, found, cl.programs)
			return a.print(out, v, func() error { return a.fields(v.rows(a.now())) })
		},
	}
	which.flags(c)
	out.flags(c)
	return c
}

func (v lockView) rows(now time.Time) [][]string {
	rows := [][]string{{"object", v.Object}, {"lease", v.Namespace + "/" + v.Lease}, {"verdict", string(v.Verdict)}, {"why", v.Why}}
	if v.ID != "" {
		rows = append(rows, []string{"lock ID", v.ID}, []string{"held by", v.Who}, []string{"operation", v.Operation},
			[]string{"since", v.since(now)}, []string{"runtime", v.Version})
	}
	if v.Info != "" {
		rows = append(rows, []string{"info", v.Info})
	}
	return append(rows, []string{"do", v.Next})
}

// since has the age for people; it is never a reason.
func (v lockView) since(now time.Time) string {
	if v.Created == nil {
		return ""
	}
	return table.Stamp(*v.Created) + " (" + duration.HumanDuration(now.Sub(*v.Created)) + " ago)"
}
