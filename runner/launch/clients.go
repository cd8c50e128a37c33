package launch

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/captf/captf-runner/runner/lease"
	"github.com/captf/captf-runner/runner/state/backup"
)

// Clients read and write the objects of one namespace, live: a cache behind one of them breaks every promise. The
// typed clients of client-go are such, see [NewClients].
type Clients struct {
	// Namespace is theirs. A pass over an object of another one is refused: it would find no state, and a destroy would
	// be over before it began. Empty is not compared.
	Namespace  string
	Jobs       Jobs
	Pods       Pods
	Secrets    Secrets
	ConfigMaps ConfigMaps
	Events     Events
	Leases     Leases
}

// NewClients returns the typed clients for a namespace.
func NewClients(c kubernetes.Interface, namespace string) Clients {
	return Clients{
		Namespace:  namespace,
		Jobs:       c.BatchV1().Jobs(namespace),
		Pods:       c.CoreV1().Pods(namespace),
		Secrets:    c.CoreV1().Secrets(namespace),
		ConfigMaps: c.CoreV1().ConfigMaps(namespace),
		Events:     c.CoreV1().Events(namespace),
		Leases:     c.CoordinationV1().Leases(namespace),
	}
}

// Jobs is what is used of the typed client's JobInterface.
type Jobs interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*batchv1.Job, error)
	List(ctx context.Context, opts metav1.ListOptions) (*batchv1.JobList, error)
	Create(ctx context.Context, job *batchv1.Job, opts metav1.CreateOptions) (*batchv1.Job, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*batchv1.Job, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Pods is what is used of the typed client's PodInterface.
type Pods interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	List(ctx context.Context, opts metav1.ListOptions) (*corev1.PodList, error)
}

// Secrets is what is used of the typed client's SecretInterface.
type Secrets interface {
	backup.Secrets
	Update(ctx context.Context, secret *corev1.Secret, opts metav1.UpdateOptions) (*corev1.Secret, error)
}

// Leases is what is used of the typed client's LeaseInterface.
type Leases interface {
	lease.Leases
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*coordinationv1.Lease, error)
}

// ConfigMaps is what is used of the typed client's ConfigMapInterface.
type ConfigMaps interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.ConfigMap, error)
}

// Events is what is used of the typed client's EventInterface.
type Events interface {
	Create(ctx context.Context, event *corev1.Event, opts metav1.CreateOptions) (*corev1.Event, error)
}
