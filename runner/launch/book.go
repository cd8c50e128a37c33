package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/event"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// abandoned is the age from which a config Secret without a Job is no longer waiting for one.
const abandoned = 5 * time.Minute

// bookAll closes the books of every finished run. Each step may be done twice, and changes nothing then; the last one
// is the mark that it is done.
func (p *pass) bookAll(ctx context.Context) error {
	p.report.Again = true
	for _, r := range p.report.Decision.Book {
		err := p.book(ctx, &r)
		if errors.Is(err, errMoved) {
			p.report.After = changedAfter
			return nil // whoever was faster goes on, or the next pass
		}
		if err != nil {
			return fmt.Errorf("job %s: %w", r.Name, err)
		}
		r.Booked = true
		p.report.Booked = append(p.report.Booked, r)
		p.metrics().JobEnded(p.id, r.Op, r.result(), r.FinishedAt.Sub(r.CreatedAt))
	}
	return p.prune(ctx)
}

func (p *pass) book(ctx context.Context, r *Run) error {
	for _, step := range []func(context.Context, *Run) error{
		p.record, p.keepState, p.tell, p.leave, p.removeConfig, p.mark,
	} {
		if err := step(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// tell sends the events that follow from the outcome.
func (p *pass) tell(ctx context.Context, r *Run) error {
	if r.ForceUnlock != "" { // a launcher may have died between creating the Job and saying so
		if err := p.send(ctx, *r, r.Name, forceUnlocked(r.Name, r.ForceUnlock)); err != nil {
			return err
		}
	}
	if r.Outcome.Verdict == StateUnsaved {
		if err := p.send(ctx, *r, r.Name, event.New(event.StateRescued, "job %s: %s", r.Name, r.Outcome.Message)); err != nil {
			return err
		}
	}
	return p.send(ctx, *r, r.Name, jobEnded(r))
}

func jobEnded(r *Run) event.Event {
	reason := event.JobFailed
	switch r.Outcome.Verdict {
	case Succeeded:
		return event.New(event.JobSucceeded, "job %s", r.Name)
	case Interrupted:
		reason = event.JobInterrupted
	}
	return event.New(reason, "job %s: %s: %s", r.Name, cmp.Or(r.Outcome.Reason, string(r.Outcome.Verdict)), r.Outcome.Message)
}

func forceUnlocked(job, id string) event.Event {
	return event.New(event.ForceUnlocked, "job %s releases lock %s, whose holder is gone", job, id)
}

// leave gives back the leases that the Job was admitted with.
func (p *pass) leave(ctx context.Context, r *Run) error {
	return p.gate().Leave(ctx, lease.Claim{Object: p.id, Op: r.Op, Job: r.Name})
}

// removeConfig removes the run's rendered root, which may hold credentials, and those that were left behind by a
// launcher that died before it created their Job.
func (p *pass) removeConfig(ctx context.Context, r *Run) error {
	selected, err := selector(p.id, LabelConfig)
	if err != nil {
		return err
	}
	list, err := p.Clients.Secrets.List(ctx, metav1.ListOptions{LabelSelector: selected})
	if err != nil {
		return fmt.Errorf("list config secrets: %w", err)
	}
	for i := range list.Items {
		s := &list.Items[i]
		job := s.Labels[LabelConfig]
		if job != r.Name && !p.leftBehind(s, job) {
			continue
		}
		this := &metav1.Preconditions{UID: &s.UID}
		if job != r.Name { // another launcher may be about to use it
			this.ResourceVersion = &s.ResourceVersion
		}
		err := p.Clients.Secrets.Delete(ctx, s.Name, metav1.DeleteOptions{Preconditions: this})
		if err != nil && !absent.Is(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete config secret %s: %w", s.Name, err)
		}
	}
	return nil
}

// leftBehind reports whether no pod will read a config Secret any more.
func (p *pass) leftBehind(s *corev1.Secret, job string) bool {
	if _, ours := naming.ParseJob(p.id, job); !ours {
		return false
	}
	i := slices.IndexFunc(p.seen.Runs, func(r Run) bool { return r.Name == job })
	if i < 0 {
		return p.now().Sub(writtenAt(s)) > abandoned
	}
	return p.seen.Runs[i].Booked
}

// writtenAt is when a config Secret was written: one that a launcher left behind is written anew by the next.
func writtenAt(s *corev1.Secret) time.Time {
	at, err := time.Parse(time.RFC3339Nano, s.Annotations[AnnotationWritten])
	if err != nil || at.Before(s.CreationTimestamp.Time) {
		return s.CreationTimestamp.Time
	}
	return at
}

func (p *pass) mark(ctx context.Context, r *Run) error {
	return p.annotate(ctx, r, AnnotationBooked, "true")
}

// prune removes the oldest booked Jobs.
func (p *pass) prune(ctx context.Context) error {
	for _, r := range p.seen.prunable(p.keep()) {
		err := p.Clients.Jobs.Delete(ctx, r.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &r.UID}, PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
		if err != nil && !absent.Is(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete job %s: %w", r.Name, err)
		}
	}
	return nil
}
