package launch

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/naming"
)

const (
	// maxConfig is what a Secret holds, in bytes.
	maxConfig = 1 << 20
	// planKeySize is the length of a key of plan hashes that is made here, in bytes.
	planKeySize = 32
)

// config is the Secret with the rendered root of the Job.
func (p *pass) config(ctx context.Context, o Order) (*corev1.Secret, error) {
	files, err := p.object.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("render the root: %w", err)
	}
	size := 0
	for _, content := range files {
		size += len(content)
	}
	if size > maxConfig {
		return nil, fmt.Errorf("the rendered root has %d bytes, a Secret holds %d: put what is large into the module image", size, maxConfig)
	}
	marks, err := labels(p.id)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: configName(o.Name), Namespace: p.id.Namespace, Labels: with(marks, LabelConfig, o.Name), OwnerReferences: o.owners(),
			// Whoever writes it makes another version of it, see takeBack.
			Annotations: map[string]string{AnnotationWritten: p.now().UTC().Format(time.RFC3339Nano)},
		},
		Data: files,
	}, nil
}

// prepare makes what the pod needs before there is a pod, and copies the state that may change. The lease is held, and
// the Job does not exist: a config Secret that is there was left by a launcher that died.
func (p *pass) prepare(ctx context.Context, o Order, config *corev1.Secret) error {
	if mutates(o.Desired.Op) && !p.seen.State.Unfilled {
		if err := p.backUp(ctx, &Run{Name: o.Name}, false); err != nil {
			return err
		}
	}
	if o.needsPlanKey() {
		if err := p.makePlanKey(ctx, o.Template.PlanKey); err != nil {
			return err
		}
	}
	written, err := p.Clients.Secrets.Create(ctx, config, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		written, err = p.Clients.Secrets.Update(ctx, config, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write config secret %s: %w", config.Name, err)
	}
	p.written = written
	return nil
}

// makePlanKey makes the key when there is none. It stays: a plan is approved by a hash under this key.
func (p *pass) makePlanKey(ctx context.Context, name string) error {
	_, err := p.Clients.Secrets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	if !absent.Is(err) {
		return fmt.Errorf("get the plan key %s: %w", name, err)
	}
	key := make([]byte, planKeySize)
	_, _ = rand.Read(key) // never fails
	_, err = p.Clients.Secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.id.Namespace, Labels: map[string]string{naming.LabelManaged: "true"}},
		Data:       map[string][]byte{keyFile: key},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the plan key %s: %w", name, err)
	}
	return nil
}
