package launch

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/event"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
)

// start creates the Job, if the policy and the leases let it. What can be refused without a write is refused first.
func (p *pass) start(ctx context.Context) error {
	order, job, err := p.order()
	if err != nil {
		p.refuse(ReasonInvalidTemplate, err)
		return nil
	}
	config, err := p.config(ctx, order)
	if err != nil {
		return err
	}
	if p.Policy != nil {
		if refusal := p.Policy(ctx, order); refusal != nil {
			p.refuse(ReasonPolicy, refusal)
			return nil
		}
	}
	admitted, err := p.enter(ctx, order)
	if err != nil || !admitted.Admitted() {
		return err
	}
	if same, err := p.sameJobs(ctx); err != nil || !same {
		return err
	}
	err = p.prepare(ctx, order, config)
	if err == nil {
		within, cancel := context.WithDeadline(ctx, admitted.CreateBefore)
		defer cancel()
		err = p.create(within, order, job)
	}
	if refusedForGood(err) && p.report.Created == "" {
		p.takeBack(ctx, admitted)
	}
	return err
}

func (p *pass) refuse(reason string, why error) {
	p.report.Decision = Decision{Action: Refuse, Reason: reason, Message: why.Error()}
}

// order is the Job that was decided on. An error is one of the template, and the same as long as that is.
func (p *pass) order() (Order, *batchv1.Job, error) {
	d := p.report.Decision
	o := Order{
		Object: p.id, Reference: p.ref, Desired: p.desired, Template: p.seen.Template,
		ForceUnlock: d.ForceUnlock, LockVersion: d.LockVersion, StateVersion: p.seen.State.Version,
		Chunks: p.seen.Copy.Chunks, Resources: p.seen.Copy.Resources,
	}
	var err error
	if o.Name, err = naming.JobName(p.id, p.desired.Op, d.Attempt, p.desired.InputsHash, p.desired.Tick); err != nil {
		return o, nil, err
	}
	job, err := NewJob(o)
	return o, job, err
}

// enter asks for the leases, and reports the wait when they are not to be had.
func (p *pass) enter(ctx context.Context, o Order) (lease.Admission, error) {
	claim := lease.Claim{Object: p.id, Op: o.Desired.Op, Job: o.Name, Deadline: o.Template.Deadline, PodGrace: o.Template.Grace}
	a, err := p.gate().Enter(ctx, claim)
	if err != nil || a.Admitted() {
		return a, err
	}
	p.waitForLease(a.Reason, a.Jobs)
	return a, nil
}

// sameJobs looks again, now that no other launcher can create a Job: one that was created after the first look may have
// done what this pass has decided, or something newer.
func (p *pass) sameJobs(ctx context.Context) (bool, error) {
	runs, err := p.Clients.runs(ctx, p.id)
	if err != nil {
		return false, err
	}
	equal := slices.EqualFunc(runs, p.seen.Runs, func(a, b Run) bool { return a.UID == b.UID && a.Booked == b.Booked })
	if !equal {
		p.report.Decision = Decision{Action: Wait, Reason: ReasonOtherJobAppeared, Message: "the object's jobs changed during the pass", After: changedAfter}
		p.report.After = changedAfter
	}
	return equal, nil
}

// create creates the Job. One that exists is this one, since its name says so: an answer was lost.
func (p *pass) create(ctx context.Context, o Order, job *batchv1.Job) error {
	made, err := p.Clients.Jobs.Create(ctx, job, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		p.report.After = changedAfter
		return nil
	case err != nil:
		return fmt.Errorf("create job %s: %w", job.Name, err)
	}
	p.report.Created, p.report.After = made.Name, followAfter
	p.ownConfig(ctx, made)
	run, _ := runOf(p.id, made)
	if o.ForceUnlock != "" {
		p.metrics().ForceUnlocked(p.id)
		if err := p.send(ctx, run, run.Name, forceUnlocked(run.Name, o.ForceUnlock)); err != nil {
			return err
		}
	}
	return p.tellForeign(ctx, run)
}

// waits reports a wait, and who holds the lock if that is what is waited for.
func (p *pass) waits(ctx context.Context) {
	p.metrics().Waited(p.id, p.report.Decision.Reason)
	if err := p.tellForeign(ctx, Run{}); err != nil {
		p.log().Warn("the event could not be sent", "object", p.id.String(), "error", err)
	}
}

// tellForeign says who holds a lock that nobody will release for them.
func (p *pass) tellForeign(ctx context.Context, r Run) error {
	if p.seen.Lock == nil || p.seen.Lock.Verdict != lock.Foreign {
		return nil
	}
	held := p.seen.Lock.Lock
	return p.send(ctx, r, held.Holder, event.New(event.StateLocked, "%s: it is not one of the object's Jobs, so its lock stays", held.Info))
}
