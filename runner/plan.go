package runner

import (
	"context"
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/captf/captf-runner/runner/plan"
	"github.com/captf/captf-runner/runner/result"
	"github.com/captf/captf-runner/runner/runtime"
)

// shownPlan is a plan that was made and, if it changes anything, read.
type shownPlan struct {
	changes bool
	plan    *tfjson.Plan
	summary plan.Summary
}

// makePlan saves a plan and, if it changes anything, reads it.
func (r *run) makePlan(ctx context.Context, refresh bool) (shownPlan, error) {
	args := func(a runtime.Args) []string { return a.Plan(r.work.plan(), refresh) }
	d, err := r.step(ctx, step{name: "plan", locks: true, args: args, accepts: []int{2}})
	if err != nil || d.code == 0 {
		return shownPlan{plan: &tfjson.Plan{}}, err
	}
	return r.showPlan(ctx)
}

func (r *run) showPlan(ctx context.Context) (shownPlan, error) {
	const name = "show-json"
	if r.stop.Cause() != nil {
		return shownPlan{}, interrupted(r.stop, name, "not started")
	}
	r.notify("StepStarted", name)
	shown, err := r.readPlan(ctx, name)
	r.notifyEnd(name, err)
	if err != nil {
		return shownPlan{}, err
	}
	r.redact.Add(plan.Sensitive(shown)...)
	return shownPlan{changes: true, plan: shown, summary: plan.Summarise(shown)}, nil
}

// readPlan has the runtime print the saved plan.
func (r *run) readPlan(ctx context.Context, name string) (*tfjson.Plan, error) {
	shown, exit, output, err := r.rt.ShowPlan(ctx, r.work.plan())
	r.report.record(name, exit, 1)
	switch {
	case shown != nil:
		return shown, nil
	case r.stop.Cause() != nil:
		return nil, interrupted(r.stop, name, "the step was interrupted")
	case err != nil:
		f := asFailure(err, r.stop)
		f.step, f.err = name, fmt.Errorf("read the saved plan: %w", f.err)
		return nil, f
	}
	return nil, r.stepFailure(name, exit, output)
}

// describe puts the plan into the result, with its hash when there is a key.
func (r *run) describe(shown shownPlan) error {
	s := shown.summary
	r.report.Plan = &result.Plan{
		Create: s.Create, Update: s.Update, Replace: s.Replace, Delete: s.Delete,
		OutputChanges: s.OutputChanges, Import: s.Import, Move: s.Move, Forget: s.Forget,
		Resources: changesOf(s),
	}
	if r.inputs.planKey == nil {
		return nil
	}
	hash, err := plan.Hash(shown.plan, r.inputs.planKey)
	if err != nil {
		return &failure{kind: result.KindStep, reason: result.ReasonConfig, step: "plan", err: fmt.Errorf("hash of the plan: %w", err)}
	}
	r.report.Plan.Hash = hash
	return nil
}
