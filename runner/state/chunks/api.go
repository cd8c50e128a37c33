// Package chunks deals with the Secrets that hold one state, in the API server.
//
// [API.Gather] reads them live, and [Set.Read] summarises the state in them, or says why it cannot be read.
// [Set.CheckLabels] has to pass before a Job is launched: a runtime that does not find its state by its labels begins
// with an empty one. [API.Adopt] makes the object their owner after an apply or a restore, [API.Repair] does it again
// where that was lost, and [API.Delete] removes them after a destroy. See spec/state-and-locks.md, "Reading a state"
// and "Adoption".
//
// Only what was read live is trusted: a [Secrets] with a cache behind it breaks every promise.
package chunks

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Secrets reads and writes the Secrets of one namespace, live. The typed client's SecretInterface is one.
type Secrets interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
	List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Secret, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Leases reads and writes the Leases of one namespace, live. The typed client's LeaseInterface is one.
type Leases interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*coordinationv1.Lease, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// API is where the chunks and the leases of the objects of one namespace are. To gather, Secrets is enough.
type API struct {
	Secrets Secrets
	Leases  Leases
}
