package launch

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
)

// Preview is what the next pass would do, and the Job that it would create, nil if it would create none. It writes
// nothing. Whether the leases can be had shows only when they are asked for.
func (l *Launcher) Preview(ctx context.Context, o Object) (Decision, *batchv1.Job, error) {
	p := &pass{Launcher: l, object: o, id: o.Identity(), ref: o.Reference(), desired: o.Desired()}
	if err := p.gather(ctx); err != nil {
		return Decision{}, nil, p.wrap("gather", err)
	}
	p.report.Decision = Decide(p.seen)
	if p.report.Decision.Action != Start {
		return p.report.Decision, nil, nil
	}
	_, job, err := p.order()
	if err != nil {
		p.refuse(ReasonInvalidTemplate, err)
	}
	return p.report.Decision, job, nil
}
