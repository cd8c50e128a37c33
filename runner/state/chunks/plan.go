package chunks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

// plan says what is to be true of the metadata of each chunk.
type plan struct {
	suffix   string
	base     string
	selector map[string]string
	want     Adoption
}

// newPlan refuses what is not the object's to adopt.
func newPlan(set *Set, want Adoption) (plan, error) {
	if o := want.Owner; o.APIVersion == "" || o.Kind == "" || o.Name == "" || o.UID == "" {
		return plan{}, fmt.Errorf("the owner %+v is incomplete", o)
	}
	if _, err := schema.ParseGroupVersion(want.Owner.APIVersion); err != nil {
		return plan{}, fmt.Errorf("the owner's apiVersion: %w", err)
	}
	selector, err := set.selector()
	if err != nil {
		return plan{}, err
	}
	suffix := naming.Suffix(set.Object)
	p := plan{suffix: suffix, base: naming.StateSecret(suffix, 0), selector: selector, want: want}
	if want.Relabel {
		return p, nil
	}
	return p, set.checkValues()
}

// patch returns the merge patch that makes meta what it should be, or nil if it is. Its resourceVersion has the server
// refuse it when the object is no longer what was read.
func (p plan) patch(meta *metav1.ObjectMeta, hash string) ([]byte, error) {
	change := map[string]any{}
	if owners, ok := p.owners(meta.OwnerReferences); ok {
		change["ownerReferences"] = owners
	}
	if labels := p.labels(meta.Labels); len(labels) > 0 {
		change["labels"] = labels
	}
	if hash != "" && meta.Annotations[state.AnnotationInputsHash] != hash {
		change["annotations"] = map[string]string{state.AnnotationInputsHash: hash}
	}
	if len(change) == 0 {
		return nil, nil
	}
	change["resourceVersion"] = meta.ResourceVersion
	return json.Marshal(map[string]any{"metadata": change})
}

// owners returns the references with the object's own among them, and whether that is a change. References of the
// object with an old UID or as a controller go; those of others stay.
func (p plan) owners(have []metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	o := p.want.Owner
	own := metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
	others := slices.DeleteFunc(slices.Clone(have), func(r metav1.OwnerReference) bool { return r.UID == o.UID || p.sameObject(r) })
	if len(others) == len(have)-1 && slices.Contains(have, own) {
		return nil, false
	}
	return append(others, own), true
}

// sameObject reports whether a reference names the object, of whatever version and UID.
func (p plan) sameObject(r metav1.OwnerReference) bool {
	theirs, err := schema.ParseGroupVersion(r.APIVersion)
	ours, _ := schema.ParseGroupVersion(p.want.Owner.APIVersion)
	return err == nil && theirs.Group == ours.Group && r.Kind == p.want.Owner.Kind && r.Name == p.want.Owner.Name
}

// labels returns those to be set.
func (p plan) labels(have map[string]string) map[string]string {
	set := maps.Clone(p.selector)
	maps.DeleteFunc(set, func(key, value string) bool {
		got, ok := have[key]
		return ok && (got == value || !p.want.Relabel)
	})
	return set
}
