package launch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/naming"
)

// holders are the Jobs that hold the object's leases: live ones, and dead ones whose leases do not count any more.
func (p *pass) holders(ctx context.Context) (live, dead []string, err error) {
	for _, name := range naming.Leases(p.id) {
		l, err := p.Clients.Leases.Get(ctx, name, metav1.GetOptions{})
		if absent.Is(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("get lease %s: %w", name, err)
		}
		record := lease.FromLease(l)
		if record.Job == "" {
			continue
		}
		job, err := p.Clients.Holder(ctx, record.Job)
		if err != nil {
			return nil, nil, err
		}
		if lease.Judge(record, job, p.now()) == lease.Live {
			live = append(live, record.Job)
		} else {
			dead = append(dead, record.Job)
		}
	}
	return live, dead, nil
}

// waitForLease reports that somebody holds a lease that this pass needs.
func (p *pass) waitForLease(reason lease.Reason, jobs []string) {
	p.report.Decision = Decision{Action: Wait, Reason: string(reason), Message: fmt.Sprintf("waiting for %v", jobs), After: leaseAfter}
	p.report.After = leaseAfter
	p.metrics().Waited(p.id, string(reason))
}
