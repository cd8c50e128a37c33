package runner

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// operate runs the steps of the operation (spec/runner.md, "Steps").
func (r *run) operate(ctx context.Context) error {
	if err := r.initialise(ctx); err != nil {
		return err
	}
	if err := r.forceUnlock(ctx); err != nil {
		return err
	}
	if err := r.pushKept(ctx); err != nil {
		return err
	}
	r.takenOver()
	r.settleEarlier(ctx)
	switch r.opts.Op {
	case naming.Apply:
		if r.opts.GuardDeletes || r.opts.ExpectPlan != "" {
			return r.applyApproved(ctx)
		}
		return r.change(ctx, step{name: "apply", locks: true, changes: true, args: runtime.Args.Apply})
	case naming.Destroy:
		return r.change(ctx, step{name: "destroy", locks: true, changes: true, args: runtime.Args.Destroy})
	case naming.Refresh:
		return r.refresh(ctx)
	case naming.Drift:
		return r.drift(ctx)
	case naming.Plan:
		return r.plan(ctx)
	default:
		return r.restore(ctx)
	}
}

// change runs a step that changes resources.
func (r *run) change(ctx context.Context, s step) error {
	d, err := r.step(ctx, s)
	if err != nil {
		return err
	}
	r.report.outputs = d.output.Outputs
	if c := d.output.Counts; c != nil {
		r.report.Changes = &result.Changes{Add: c.Add, Change: c.Change, Destroy: c.Remove, Import: c.Import}
	}
	return nil
}

func (r *run) refresh(ctx context.Context) error {
	d, err := r.step(ctx, step{name: "apply-refresh-only", locks: true, args: runtime.Args.RefreshOnly})
	if err == nil {
		r.report.drifted = d.output.Drifted
	}
	return err
}

// drift brings the state up to date and then plans without another refresh. Whether there is drift is
// read from the plan: a runtime exits 2 for noise as well.
func (r *run) drift(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	shown, err := r.makePlan(ctx, false)
	if err != nil {
		return err
	}
	d := plan.Drift(shown.plan)
	r.report.Drift = &result.Drift{
		Detected: len(d.Resources) > 0,
		Create:   d.Create, Update: d.Update, Replace: d.Replace, Delete: d.Delete,
		Resources: changesOf(d),
	}
	return nil
}

func (r *run) plan(ctx context.Context) error {
	shown, err := r.makePlan(ctx, true)
	if err != nil {
		return err
	}
	return r.describe(shown)
}

// applyApproved plans, compares the plan with what was approved, and applies exactly that plan.
func (r *run) applyApproved(ctx context.Context) error {
	shown, err := r.makePlan(ctx, true)
	if err != nil {
		return err
	}
	if err := r.describe(shown); err != nil {
		return err
	}
	if err := r.approve(shown.summary); err != nil {
		return err
	}
	if !shown.changes {
		r.log.Info("no changes, so there is nothing to apply")
		r.report.Changes = &result.Changes{}
		return nil
	}
	// A plan of 20 MiB took 100 MiB to read. The runtime and its providers need them more than the runner.
	shown.plan = nil
	debug.FreeOSMemory()
	saved := func(a runtime.Args) []string { return a.ApplyPlan(r.work.plan()) }
	return r.change(ctx, step{name: "apply", locks: true, changes: true, planned: shown.summary.Resources, args: saved})
}

// approve stops a run whose plan is not what was approved, before anything is changed.
func (r *run) approve(s plan.Summary) error {
	if r.opts.ExpectPlan != "" && r.report.Plan.Hash != r.opts.ExpectPlan {
		wayOut := "look at the new plan and approve it"
		if len(s.Resources) == 0 && s.OutputChanges == 0 {
			wayOut = "the new one has no changes: what was approved is already done, or was undone, " +
				"or this run has other inputs"
		}
		return &failure{kind: result.KindPlanChanged, step: "plan",
			err: fmt.Errorf("the plan has the hash %s, but %s was approved: %s", r.report.Plan.Hash, r.opts.ExpectPlan, wayOut)}
	}
	allowed := r.opts.AllowDeletesHash != "" && r.opts.AllowDeletesHash == r.opts.InputsHash
	if r.opts.GuardDeletes && s.Destructive() && !allowed {
		return r.blocked(s)
	}
	return nil
}

// blocked is the failure of a run whose deletes are guarded.
func (r *run) blocked(s plan.Summary) *failure {
	wayOut := "allow them for these inputs with --allow-deletes-hash " + r.opts.InputsHash
	if r.opts.InputsHash == "" {
		wayOut = "approve this plan by its hash: --op plan tells it, --expect-plan applies it, without --guard-deletes; " +
			"or allow deletes for these inputs: --inputs-hash and --allow-deletes-hash with the same text"
	}
	f := &failure{kind: result.KindBlocked, step: "plan",
		err: fmt.Errorf("the plan deletes %d and replaces %d resources, and deletes are guarded: nothing was changed; %s", s.Delete, s.Replace, wayOut)}
	for _, c := range s.Resources {
		if c.Action == plan.Delete || c.Action == plan.Replace {
			f.resources = append(f.resources, result.ErrorResource{Address: c.Address, Summary: c.Action})
		}
	}
	return f
}

// removeInputs removes what holds every input, and outputs: the saved plan and the state of a restore.
func (r *run) removeInputs() {
	for _, file := range []string{r.work.plan(), restoreFile(r.work)} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			r.log.Warn("a file that holds secrets could not be removed", "error", err)
		}
	}
}
