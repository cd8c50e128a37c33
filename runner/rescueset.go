package runner

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/naming"
)

// maxPart is how much of a rescued state one Secret holds, in bytes: the API server's limit is 1 MiB for
// all of its data.
const maxPart = 1000 << 10

func (s unsavedState) digest() string {
	sum := sha256.Sum256(s.bytes)
	return hex.EncodeToString(sum[:])
}

// rescue stores the state as a rescue set: Secrets that the runner writes itself, gzipped like the
// backend's own, so that they can be restored like a backup.
func (c *cluster) rescue(ctx context.Context, state unsavedState) (where string, err error) {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(state.bytes); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	name := func(part int) string { return naming.RescueSecret(c.suffix, state.serial, part) }
	err = c.storeSet(ctx, state, compressed.Bytes(), name)
	if errors.Is(err, errOtherSet) {
		name = func(part int) string {
			return naming.OtherRescueSecret(c.suffix, state.serial, state.digest(), part)
		}
		err = c.storeSet(ctx, state, compressed.Bytes(), name)
	}
	return "Secret " + c.client.Namespace() + "/" + name(0), err
}

// errOtherSet says that an earlier run rescued another state with this serial: it stays.
var errOtherSet = errors.New("holds another rescued state")

// storeSet stores the parts in order.
func (c *cluster) storeSet(ctx context.Context, state unsavedState, data []byte, name func(part int) string) error {
	parts := (len(data) + maxPart - 1) / maxPart
	for part := range parts {
		secret := c.rescueSecret(state, name(part), parts)
		secret.Data = map[string][]byte{"tfstate": data[part*maxPart : min(len(data), (part+1)*maxPart)]}
		if err := c.createSecret(ctx, secret); err != nil {
			return fmt.Errorf("rescue Secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

func (c *cluster) rescueSecret(state unsavedState, name string, parts int) *kube.Secret {
	labels := maps.Clone(c.labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[naming.LabelRescue] = "true"
	return &kube.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels,
		Annotations: map[string]string{
			naming.AnnotationSerial: strconv.FormatUint(state.serial, 10), naming.AnnotationLineage: state.lineage,
			naming.AnnotationDigest: state.digest(), naming.AnnotationParts: strconv.Itoa(parts),
			naming.AnnotationRescuedAt: time.Now().UTC().Format(time.RFC3339),
		},
	}}
}

// createSecret repeats a creation that did not succeed while there is time. A Secret that is there with the
// same digest is the answer that was lost; one with another digest is another rescue, and stays.
func (c *cluster) createSecret(ctx context.Context, secret *kube.Secret) error {
	var last error
	create := func() (err error) {
		defer func() { last = err }()
		_, err = c.client.Secrets(c.client.Namespace()).Create(ctx, secret, metav1.CreateOptions{})
		switch {
		case apierrors.IsAlreadyExists(err):
			there, errGet := c.client.Secrets(c.client.Namespace()).Get(ctx, secret.Name, metav1.GetOptions{})
			switch {
			case errGet != nil:
				return errGet
			case there.Annotations[naming.AnnotationDigest] == secret.Annotations[naming.AnnotationDigest]:
				return nil
			}
			return backoff.Permanent(errOtherSet)
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			return backoff.Permanent(err)
		}
		return err
	}
	err := backoff.Retry(create, backoff.WithContext(pausesFrom(200*time.Millisecond, 5*time.Second), ctx))
	return outOfTime(ctx, err, last)
}
