package chunks

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tries bounds how often a write is repeated whose object was written by another in between.
const tries = 8

// errMoved says that the object is no longer what was read.
var errMoved = errors.New("it was changed by another again and again: try in the next pass")

// retry repeats try while it returns errMoved, with a growing pause.
func retry(ctx context.Context, try func() error) error {
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(10*time.Millisecond), backoff.WithMaxInterval(500*time.Millisecond), backoff.WithMaxElapsedTime(0))
	once := func() error {
		err := try()
		if err != nil && !errors.Is(err, errMoved) {
			return permanent(err)
		}
		return err
	}
	return backoff.Retry(once, backoff.WithContext(backoff.WithMaxRetries(policy, tries-1), ctx))
}

// permanent marks an error that is not tried again; nil stays nil.
func permanent(err error) error {
	if err == nil {
		return nil
	}
	return backoff.Permanent(err)
}

type getter func(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)

// reread reads a Secret again. On an error it returns the old one.
func reread(ctx context.Context, get getter, old *corev1.Secret) (*corev1.Secret, error) {
	secret, err := get(ctx, old.Name, metav1.GetOptions{})
	if err != nil {
		return old, err
	}
	return secret, nil
}
