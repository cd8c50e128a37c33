package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/lock"
	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// known is an error if there is neither a lock Lease nor anything else of an object: it is called otherwise, or it is
// somewhere else. Who may not look for a state is not told that there is none.
func (cl *cluster) known(ctx context.Context, o naming.Object, found lock.Finding) error {
	if found.Lock.ResourceVersion != "" {
		return nil
	}
	there, err := cl.hasAny(ctx, o)
	if there || apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the state of %s: %w", objectName(o), err)
	}
	text := fmt.Sprintf("NotFound: namespace %s has neither a state nor a lock of %s", o.Namespace, objectName(o))
	if hint := cl.hint(ctx, o); hint != "" {
		return errors.New(text + "; " + hint)
	}
	return errors.New(text + ": look at state ls, or give -n")
}

// hasAny reports whether there is anything of an object.
func (cl *cluster) hasAny(ctx context.Context, o naming.Object) (bool, error) {
	suffix := naming.Suffix(o)
	secrets := cl.metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(o.Namespace)
	// By name: it may lack the labels that the inventory goes by.
	_, err := secrets.Get(ctx, naming.StateSecret(suffix, 0), metav1.GetOptions{})
	if !absent.Is(err) {
		return err == nil, err
	}
	all, err := cl.inventory(ctx)
	return slices.ContainsFunc(all, func(e *entry) bool { return e.suffix == suffix }), err
}

// withNames adds to the error that there is no state what may be meant instead.
func (cl *cluster) withNames(ctx context.Context, o naming.Object, err error) error {
	if !errors.Is(err, state.NotFound) {
		return err
	}
	if hint := cl.hint(ctx, o); hint != "" {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// hint is what may be wrong with the name of an object of which there is nothing, empty where that cannot be told.
func (cl *cluster) hint(ctx context.Context, o naming.Object) string {
	if err := cl.namespaceExists(ctx); err != nil {
		return err.Error()
	}
	return didYouMean(cl.likely(ctx, o))
}

// none is what to say of a list that has nothing of an object: it may be called otherwise.
func (cl *cluster) none(ctx context.Context, o naming.Object, n int, text string) string {
	if n > 0 {
		return text
	}
	if there, err := cl.hasAny(ctx, o); there || err != nil {
		return text
	}
	if hint := didYouMean(cl.likely(ctx, o)); hint != "" {
		return fmt.Sprintf("%s There is nothing of %s: %s", text, objectName(o), hint)
	}
	return text
}

// errNoNamespace says that a namespace does not exist. Its lists are empty, as those of one that has nothing.
var errNoNamespace = errors.New("does not exist: give -n, or --context for another cluster")

// namespaceExists is errNoNamespace if there is no such namespace. Who may not look at namespaces, as most who have
// rights in one alone, is not told.
func (cl *cluster) namespaceExists(ctx context.Context) error {
	_, err := cl.client.CoreV1().Namespaces().Get(ctx, cl.namespace, metav1.GetOptions{})
	if absent.Is(err) {
		return fmt.Errorf("namespace %s %w", cl.namespace, errNoNamespace)
	}
	return nil
}

// didYouMean is empty for no name.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}

// likely are objects in the namespace that are called much like o, best first. It is for advice only, so there are none
// when they cannot be read.
func (cl *cluster) likely(ctx context.Context, o naming.Object) []string {
	all, err := cl.inventory(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range all {
		if e.exact() && e.suffix != naming.Suffix(o) {
			names = append(names, objectName(e.object))
		}
	}
	return nearest(objectName(o), names)
}

// maxLikely is how many names are told.
const maxLikely = 3

// nearest are those names of which a third may be mistyped.
func nearest(name string, all []string) []string {
	distance := func(other string) int { return levenshtein.Distance(name, other, nil) }
	near := slices.DeleteFunc(slices.Clone(all), func(other string) bool { return distance(other) > max(2, len(name)/3) })
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	return near[:min(len(near), maxLikely)]
}
