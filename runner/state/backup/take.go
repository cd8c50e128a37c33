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
	all, err := s.List(ctx, from.Object)
	if err != nil {
		return Set{}, false, err
	}
	for _, there := range all {
		switch {
		case there.Origin != Backup || there.Digest != c.set.Digest || there.Serial != c.set.Serial:
		case there.Complete():
			return there, false, nil
		case there.Parts != c.set.Parts:
			// It was interrupted, and the state has been cut in another way since.
			if err := s.Remove(ctx, there); err != nil {
				return Set{}, false, err
			}
		}
	}
	c.set, err = s.write(ctx, c)
	return c.set, err == nil, err
}

// write stores a copy by its name, or by its other one: the serial may have another state's backup already, as a
// restore takes a serial back.
func (s Store) write(ctx context.Context, c copied) (Set, error) {
	c.set.Name = naming.BackupSecret(c.suffix, c.set.Serial, 0)
	err := s.store(ctx, c)
	if errors.Is(err, errOther) {
		c.set.Name = naming.OtherBackupSecret(c.suffix, c.set.Serial, c.set.Digest, 0)
		err = s.store(ctx, c)
	}
	return c.set, err
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

func (s Store) store(ctx context.Context, c copied) error {
	for part := range c.data {
		secret := c.secret(part)
		if err := s.storePart(ctx, secret); err != nil {
			return fmt.Errorf("secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// storePart creates a Secret. One that is there is left if it is the same, and replaced if it is a part of the same
// state that was cut in another way.
func (s Store) storePart(ctx context.Context, secret *corev1.Secret) error {
	for range storeTries {
		_, err := s.Secrets.Create(ctx, secret, metav1.CreateOptions{})
		if err == nil || !apierrors.IsAlreadyExists(err) {
			return err
		}
		there, err := s.Secrets.Get(ctx, secret.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case there.Annotations[naming.AnnotationDigest] != secret.Annotations[naming.AnnotationDigest]:
			return errOther
		case there.Annotations[naming.AnnotationParts] == secret.Annotations[naming.AnnotationParts] &&
			bytes.Equal(there.Data[state.DataKey], secret.Data[state.DataKey]):
			return nil
		}
		err = s.Secrets.Delete(ctx, there.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.UID, ResourceVersion: &there.ResourceVersion}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return errReplaced
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
