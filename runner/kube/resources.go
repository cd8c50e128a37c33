package kube

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Leases reads and writes the Leases of one namespace; the signatures are those of the typed client.
type Leases struct {
	r resource[coordinationv1.Lease, *coordinationv1.Lease]
}

// Leases returns the Leases of namespace; of the backend's own when it is empty.
func (c *Client) Leases(namespace string) Leases {
	return Leases{newResource[coordinationv1.Lease](c, "/apis/coordination.k8s.io/v1", "leases", namespace)}
}

// Get reads one Lease.
func (l Leases) Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.r.get(ctx, name, opts)
}

// Update replaces a Lease; a resourceVersion that is no longer the current one is a Conflict.
func (l Leases) Update(ctx context.Context, lease *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.r.update(ctx, lease, opts)
}

// Secrets reads and writes the Secrets of one namespace.
type Secrets struct {
	r resource[Secret, *Secret]
}

// Secrets returns the Secrets of namespace; of the backend's own when it is empty.
func (c *Client) Secrets(namespace string) Secrets {
	return Secrets{newResource[Secret](c, "/api/v1", "secrets", namespace)}
}

// Get reads one Secret.
func (s Secrets) Get(ctx context.Context, name string, opts metav1.GetOptions) (*Secret, error) {
	return s.r.get(ctx, name, opts)
}

// Create makes a Secret; one that exists is AlreadyExists.
func (s Secrets) Create(ctx context.Context, secret *Secret, opts metav1.CreateOptions) (*Secret, error) {
	return s.r.create(ctx, secret, opts)
}

// Update replaces a Secret; a resourceVersion that is no longer the current one is a Conflict.
func (s Secrets) Update(ctx context.Context, secret *Secret, opts metav1.UpdateOptions) (*Secret, error) {
	return s.r.update(ctx, secret, opts)
}

// Delete removes a Secret, under the preconditions in opts.
func (s Secrets) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return s.r.delete(ctx, name, opts)
}

// ConfigMaps creates ConfigMaps in one namespace.
type ConfigMaps struct {
	r resource[ConfigMap, *ConfigMap]
}

// ConfigMaps returns the ConfigMaps of namespace; of the backend's own when it is empty.
func (c *Client) ConfigMaps(namespace string) ConfigMaps {
	return ConfigMaps{newResource[ConfigMap](c, "/api/v1", "configmaps", namespace)}
}

// Create makes a ConfigMap; one that exists is AlreadyExists.
func (m ConfigMaps) Create(ctx context.Context, cm *ConfigMap, opts metav1.CreateOptions) (*ConfigMap, error) {
	return m.r.create(ctx, cm, opts)
}

// Events creates events in one namespace.
type Events struct {
	r resource[Event, *Event]
}

// Events returns the events of namespace; of the backend's own when it is empty.
func (c *Client) Events(namespace string) Events {
	return Events{newResource[Event](c, "/api/v1", "events", namespace)}
}

// Create makes an event.
func (e Events) Create(ctx context.Context, event *Event, opts metav1.CreateOptions) (*Event, error) {
	return e.r.create(ctx, event, opts)
}
