package lock_test

import (
	"context"
	"strconv"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf/captf-runner/runner/lock"
)

const (
	leaseName = "lock-tfstate-default-0123456789abcdef-m"
	lockID    = "1dc81f46-c73c-e80d-8b5a-47eff734d8f9"
	podName   = "captf-m-worker-apply-a1-0a1b2c-x7k2p"
)

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// api is one Lease with the API server's semantics of a resourceVersion, for what a real server
// cannot be made to do on demand: before runs ahead of each request and may fail it, or write.
type api struct {
	lease    *coordinationv1.Lease
	before   func(verb string, a *api) error
	requests []string
}

func (a *api) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := a.request(ctx, "get"); err != nil {
		return nil, err
	}
	if a.lease == nil {
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	return a.lease.DeepCopy(), nil
}

func (a *api) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := a.request(ctx, "update"); err != nil {
		return nil, err
	}
	if a.lease == nil {
		return nil, apierrors.NewNotFound(leaseResource, lease.Name)
	}
	if a.lease.ResourceVersion != lease.ResourceVersion {
		return nil, apierrors.NewConflict(leaseResource, lease.Name, nil)
	}
	a.write(lease)
	return a.lease.DeepCopy(), nil
}

func (a *api) request(ctx context.Context, verb string) error {
	a.requests = append(a.requests, verb)
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.before != nil {
		return a.before(verb, a)
	}
	return nil
}

func (a *api) write(lease *coordinationv1.Lease) {
	version, _ := strconv.Atoi(lease.ResourceVersion)
	a.lease = lease.DeepCopy()
	a.lease.ResourceVersion = strconv.Itoa(version + 1)
}

// held is the Lease as a run on host leaves it while it holds the lock.
func held(id, host string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name:            leaseName,
			ResourceVersion: "41",
			Labels:          map[string]string{"tfstate": "true"},
			Annotations: map[string]string{
				"other":             "kept",
				lock.InfoAnnotation: infoJSON(id, host),
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &id},
	}
}

func infoJSON(id, host string) string {
	return `{"ID":"` + id + `","Operation":"OperationTypeApply","Info":"","Who":"nonroot@` + host +
		`","Version":"1.12.6","Created":"2026-11-30T01:47:54.701841437Z","Path":""}`
}

func edit(lease *coordinationv1.Lease, change func(*coordinationv1.Lease)) *coordinationv1.Lease {
	change(lease)
	return lease
}

func forbidden(verb string) error {
	return apierrors.NewForbidden(leaseResource, leaseName, &testError{"User \"u\" cannot " + verb + " resource \"leases\""})
}

type testError struct{ text string }

func (e *testError) Error() string { return e.text }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
