package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/chunks"
)

// Take copies a state that was gathered. made is false if there is a complete backup of it already. A backup that was
// interrupted is completed. An error of a state that cannot be read has its reason: with [state.NotFound] there is
// nothing to back up. Any other error is the API server's, and names the Secret; then there is no backup.
func (s Store) Take(ctx context.Context, from *chunks.Set) (set Set, made bool, err error) {
	set, made, err = s.take(ctx, from)
	if err != nil {
		return Set{}, false, fmt.Errorf("back up the state of %s: %w", from.Object, err)
	}
	return set, made, nil
}

func (s Store) take(ctx context.Context, from *chunks.Set) (set Set, made bool, err error) {
	c, err := s.newCopy(from)
	if err != nil {
		return Set{}, false, err
	}
	// The serial may have another state's backup already, as a restore takes a serial back.
	for _, name := range []string{
		naming.BackupSecret(c.suffix, c.set.Serial, 0), naming.OtherBackupSecret(c.suffix, c.set.Serial, c.set.Digest, 0),
	} {
		c.set.Name = name
		if made, err = s.store(ctx, &c); !errors.Is(err, errOther) {
			break
		}
	}
	return c.set, made, err
}

// copied is a backup that is about to be written.
type copied struct {
	suffix string
	set    Set
	labels map[string]string
	data   [][]byte
}

func (s Store) newCopy(from *chunks.Set) (copied, error) {
	if len(from.Hidden) > 0 {
		return copied{}, from.CheckLabels()
	}
	source := from.Source(false)
	ordered, err := source.Ordered()
	if err != nil {
		return copied{}, err
	}
	digest, sum, err := read(source)
	if err != nil && !errors.Is(err, state.Encrypted) {
		return copied{}, err
	}
	c := copied{suffix: source.Suffix, set: Set{
		Origin: Backup, Serial: sum.Serial, Lineage: sum.Lineage, Digest: digest, Time: s.now().UTC(),
	}}
	if c.labels, err = naming.Labels(from.Object); err != nil {
		return copied{}, err
	}
	c.set.Cluster = c.labels[naming.LabelCluster]
	maps.Copy(c.labels, map[string]string{naming.LabelBackup: "true", naming.LabelCopySuffix: c.suffix})
	// A chunk that stayed behind when the state shrank is none of it.
	for _, chunk := range ordered {
		if c.set.Size >= sum.CompressedSize {
			break
		}
		c.data = append(c.data, chunk.Data)
		c.set.there = append(c.set.there, c.set.Parts)
		c.set.Parts++
		c.set.Size += int64(len(chunk.Data))
	}
	return c, nil
}

var (
	// errOther says that the name belongs to the copy of another state.
	errOther = errors.New("it holds another state of this serial")
	// errReplaced says that another writer replaced a part again and again.
	errReplaced = errors.New("it was written by another again and again: try in the next pass")
)

// storeTries bounds how often a part is written anew.
const storeTries = 4

// store writes the parts that are not there. made is false if all of them are; then the set has the time that they tell.
// A part of the same state that was cut in another way, in more Secrets, may stay: it is no part of this set, and goes
// with it.
func (s Store) store(ctx context.Context, c *copied) (made bool, err error) {
	for part := range c.data {
		secret := c.secret(part)
		there, err := s.storePart(ctx, secret)
		if err != nil {
			return false, fmt.Errorf("secret %s: %w", secret.Name, err)
		}
		made = made || there == nil
		if known, ok := parse(c.suffix, there); ok && part == 0 {
			c.set.Time = known.set.Time
		}
	}
	return made, nil
}

// storePart creates a Secret. One that is there and the same is returned; one that is a part of the same state and was
// cut in another way is replaced.
func (s Store) storePart(ctx context.Context, secret *corev1.Secret) (there *corev1.Secret, err error) {
	for range storeTries {
		there, err = s.Secrets.Get(ctx, secret.Name, metav1.GetOptions{})
		switch {
		case absent.Is(err):
			_, err = s.Secrets.Create(ctx, secret, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			return nil, err
		case err != nil:
			return nil, err
		case there.Annotations[naming.AnnotationDigest] != secret.Annotations[naming.AnnotationDigest]:
			return nil, errOther
		case there.Annotations[naming.AnnotationParts] == secret.Annotations[naming.AnnotationParts] &&
			bytes.Equal(there.Data[state.DataKey], secret.Data[state.DataKey]):
			return there, nil
		}
		err = s.Secrets.Delete(ctx, there.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.UID, ResourceVersion: &there.ResourceVersion}})
		if err != nil && !absent.Is(err) && !apierrors.IsConflict(err) {
			return nil, err
		}
	}
	return nil, errReplaced
}

func (c copied) secret(part int) *corev1.Secret {
	immutable := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.set.secret(part), Labels: c.labels,
			Annotations: map[string]string{
				naming.AnnotationSerial: strconv.FormatUint(c.set.Serial, 10), naming.AnnotationLineage: c.set.Lineage,
				naming.AnnotationDigest: c.set.Digest, naming.AnnotationParts: strconv.Itoa(c.set.Parts),
				naming.AnnotationBackedUpAt: c.set.Time.Format(time.RFC3339Nano),
			},
		},
		Immutable: &immutable,
		Data:      map[string][]byte{state.DataKey: c.data[part]},
	}
}
