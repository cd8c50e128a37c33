package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/captf/captf-runner/internal/table"
	"github.com/captf/captf-runner/runner/launch"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state/backup"
)

// shownJobs is how many of the last Jobs are shown.
const shownJobs = 5

func (a *app) newDoctorCommand() *cobra.Command {
	which, out := &objectFlags{}, &output{}
	c := &cobra.Command{
		Use: "doctor OBJECT", Short: "Look at all that is kept for an object, and say what to do about each finding",
		Long: `Look at all that is kept for an object: whether its state can be read, who holds its lock, its leases, its last Jobs
and their results, rescue sets and backups. For each finding that needs something, the one next command is named.
Nothing is changed. The exit code is 1 if a person is needed.`,
		Args: which.args, ValidArgsFunction: a.completeObject,
		RunE: func(c *cobra.Command, args []string) error {
			cl, o, err := a.object(c.Context(), which, args)
			if err != nil {
				return err
			}
			v := a.examine(c.Context(), cl, o)
			if err := c.Context().Err(); err != nil {
				return fmt.Errorf("not all of %s was looked at: %w", v.Object, err)
			}
			if err := a.print(out, v, func() error { return a.doctorText(v) }); err != nil || v.Healthy {
				return err
			}
			return handled{errors.New("a person is needed")}
		},
	}
	which.flags(c)
	out.flags(c)
	return c
}

// doctorView is all that is known about an object.
type doctorView struct {
	Object    string `json:"object"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster,omitempty"`
	Suffix    string `json:"suffix"`
	// Healthy says that no finding is a problem.
	Healthy  bool      `json:"healthy"`
	Findings []finding `json:"findings"`
	Jobs     []jobView `json:"jobs"` // the last ones, newest first
}

// jobView is a Job, as it is shown.
type jobView struct {
	Name       string         `json:"name"`
	Op         naming.Op      `json:"op"`
	Attempt    int            `json:"attempt"`
	CreatedAt  time.Time      `json:"createdAt"`
	FinishedAt *time.Time     `json:"finishedAt,omitempty"`
	Verdict    launch.Verdict `json:"verdict,omitempty"` // empty while it runs
	Reason     string         `json:"reason,omitempty"`
	Message    string         `json:"message,omitempty"`
}

func viewJob(r launch.Run) jobView {
	v := jobView{Name: r.Name, Op: r.Op, Attempt: r.Attempt, CreatedAt: r.CreatedAt}
	if r.Finished {
		v.FinishedAt = &r.FinishedAt
	}
	if o := r.Outcome; o != nil {
		v.Verdict, v.Reason, v.Message = o.Verdict, o.Reason, o.Message
	}
	return v
}

// observed is what a diagnosis is made from. Each part was read, or has the error that it could not be.
type observed struct {
	object naming.Object
	programs

	silentErr    error // the cluster does not answer, or does not know who asks: nothing else was read
	namespaceErr error // there is no such namespace

	state     stateView
	stateErr  error
	lock      lock.Finding
	lockErr   error
	leases    []leaseView
	leasesErr error
	runs      []launch.Run // oldest first
	runsErr   error
	copies    []backup.Set // newest first
	copiesErr error
}

// examine reads everything live, the lock before the leases and Jobs that explain it, and changes nothing.
func (a *app) examine(ctx context.Context, cl *cluster, o naming.Object) doctorView {
	seen := a.observe(ctx, cl, o)
	v := doctorView{
		Object: objectName(o), Namespace: o.Namespace, Cluster: seen.object.Cluster, Suffix: naming.Suffix(o),
		Findings: seen.diagnose(), Healthy: true, Jobs: []jobView{},
	}
	for _, f := range v.Findings {
		v.Healthy = v.Healthy && f.Level != problem
	}
	for i := len(seen.runs) - 1; i >= 0 && len(v.Jobs) < shownJobs; i-- {
		v.Jobs = append(v.Jobs, viewJob(seen.runs[i]))
	}
	return v
}

// observe stops where the cluster does not answer: each further request might take a minute to fail as well.
func (a *app) observe(ctx context.Context, cl *cluster, o naming.Object) observed {
	o, unknown := cl.withCluster(ctx, o)
	seen := observed{object: o, programs: cl.programs, silentErr: silent(unknown)}
	if seen.silentErr != nil {
		return seen
	}
	seen.state, seen.stateErr = cl.readState(ctx, o, unknown)
	if seen.silentErr = silent(seen.stateErr); seen.silentErr != nil {
		return seen
	}
	seen.namespaceErr = cl.namespaceExists(ctx)
	seen.lock, seen.lockErr = cl.checkLock(ctx, o)
	if seen.leasesErr = unknown; unknown == nil || errors.Is(unknown, errClusters) { // which the state tells of
		seen.leases, seen.leasesErr = cl.leasesOf(ctx, o, a.now())
	}
	seen.runs, seen.runsErr = cl.Look(ctx, o)
	seen.copies, seen.copiesErr = cl.copies().List(ctx, o)
	return seen
}

// doctorText writes one screen.
func (a *app) doctorText(v doctorView) error {
	out := bufio.NewWriter(a.streams.Out) // keeps the first error
	fmt.Fprintf(out, "%s in namespace %s, cluster %s, state %s\n\n", v.Object, v.Namespace, table.OrDash(v.Cluster), naming.StateSecret(v.Suffix, 0))
	width := table.Width(a.streams.Out)
	for _, f := range v.Findings {
		fmt.Fprintf(out, "%-4s %-7s %s\n", f.Level.mark(), f.Area, table.Wrap(table.Printable(f.Text), 13, width))
		if f.Next != "" {
			fmt.Fprintf(out, "%12s -> %s\n", "", table.Printable(f.Next))
		}
	}
	if len(v.Jobs) > 0 {
		fmt.Fprintln(out)
	}
	if err := out.Flush(); err != nil || len(v.Jobs) == 0 {
		return err
	}
	var rows [][]string
	for _, j := range v.Jobs {
		rows = append(rows, []string{j.Name, string(j.Op), strconv.Itoa(j.Attempt), duration.HumanDuration(a.now().Sub(j.CreatedAt)), j.outcome(), j.Reason})
	}
	return table.Write(a.streams.Out, []string{"JOB", "OP", "ATTEMPT", "AGE", "OUTCOME", "REASON"}, rows)
}

func (j jobView) outcome() string {
	if j.Verdict == "" {
		return "runs"
	}
	return string(j.Verdict)
}
