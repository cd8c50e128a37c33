package lease_test

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/lease"
)

// client turns the calls of a Gate into requests, and hands them to do.
type client struct {
	now time.Time // of the last answer
	do  func(request) answer
}

func (c *client) gate() lease.Gate {
	return lease.Gate{Leases: c, Jobs: c.job, Now: func() time.Time { return c.now }}
}

func (c *client) call(r request) answer {
	a := c.do(r)
	c.now = a.now
	return a
}

func (c *client) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	a := c.call(request{verb: "get", name: name})
	return a.lease, a.err
}

func (c *client) List(_ context.Context, opts metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	a := c.call(request{verb: "list", selector: opts.LabelSelector})
	return &coordinationv1.LeaseList{Items: a.list}, a.err
}

func (c *client) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	a := c.call(request{verb: "create", name: l.Name, lease: l})
	return a.lease, a.err
}

func (c *client) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	a := c.call(request{verb: "update", name: l.Name, lease: l})
	return a.lease, a.err
}

func (c *client) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	return c.call(request{verb: "delete", name: name, preconditions: opts.Preconditions}).err
}

func (c *client) job(_ context.Context, name string) (lease.Job, error) {
	a := c.call(request{verb: "job", name: name})
	return a.job, a.err
}
