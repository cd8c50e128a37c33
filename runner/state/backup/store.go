package backup

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
	"github.com/captf/captf-runner/runner/state/internal/page"
)

// Secrets reads and writes the Secrets of one namespace, live. The typed client's SecretInterface is one.
type Secrets interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
	List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error)
	Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Secret, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Store is where the copies of the states of one namespace are.
type Store struct {
	Secrets Secrets
	Now     func() time.Time // the clock; time.Now when nil
}

func (s Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// List returns the backups and the rescue sets of the object's state, newest first. It has those that are not
// complete, too: see [Set.Complete]. An error is the API server's, and names the request.
func (s Store) List(ctx context.Context, object naming.Object) ([]Set, error) {
	if err := object.Validate(); err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	suffix := naming.Suffix(object)
	var all []corev1.Secret
	for _, selector := range []labels.Set{
		{naming.LabelBackup: "true", naming.LabelCopySuffix: suffix},
		{naming.LabelRescue: "true"}, // a runner knows no suffix but in the name
	} {
		found, err := page.Secrets(ctx, s.Secrets, selector.String(), math.MaxInt)
		if err != nil {
			return nil, fmt.Errorf("list backups of %s: list secrets: %w", object, err)
		}
		all = append(all, found...)
	}
	return sets(suffix, all), nil
}

// Remove deletes the Secrets of a set. What is gone already is no error.
func (s Store) Remove(ctx context.Context, set Set) error {
	for _, name := range append(set.Secrets(), set.names(set.stray)...) {
		if err := s.Secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !absent.Is(err) {
			return fmt.Errorf("remove %s %s: delete secret %s: %w", set.Origin, set.Name, name, err)
		}
	}
	return nil
}

// MarkEmpty notes on a set that its state, which is encrypted and cannot be read, has no resources.
func (s Store) MarkEmpty(ctx context.Context, set Set) error {
	mark := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, naming.AnnotationEmpty)
	if _, err := s.Secrets.Patch(ctx, set.Name, types.MergePatchType, []byte(mark), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("mark %s %s as empty: patch secret %s: %w", set.Origin, set.Name, set.Name, err)
	}
	return nil
}

// Abandoned is the age from which a set that is not complete is no longer being written.
const Abandoned = 15 * time.Minute

// Prune removes the complete backups of the object's state but the newest keep, and those that are not complete and
// [Abandoned]. It never removes a rescue set. It returns the names of the sets that it removed.
func (s Store) Prune(ctx context.Context, object naming.Object, keep int) (removed []string, err error) {
	all, err := s.List(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	for _, set := range surplus(all, keep, s.now()) {
		if err := s.Remove(ctx, set); err != nil {
			return removed, fmt.Errorf("prune the backups of %s: %w", object, err)
		}
		removed = append(removed, set.Name)
	}
	return removed, nil
}

// surplus returns those of the sets, newest first, that are to go.
func surplus(all []Set, keep int, now time.Time) (gone []Set) {
	for _, set := range all {
		switch {
		case set.Origin != Backup:
		case !set.Complete():
			if now.Sub(set.Time) > Abandoned {
				gone = append(gone, set)
			}
		case keep > 0:
			keep--
		default:
			gone = append(gone, set)
		}
	}
	return gone
}

// Content is a copy that was read and checked.
type Content struct {
	// Source has its chunks, called like those of the state itself.
	Source state.Source
	// Summary is what the state says. Of an encrypted one it has no outputs and no resources.
	Summary *state.Summary
	// Encrypted says that the state is encrypted.
	Encrypted bool
}
