package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/captf/captf-runner/runner/naming"
)

// entry is what there is of one object in a namespace.
type entry struct {
	suffix string
	object naming.Object // as labels say; without a cluster where they do not agree on one
	// clusters are those that labels name. An object outside any cluster has the empty one.
	clusters []string
	// chunks are the Secrets of its state, without their data.
	chunks []metav1.PartialObjectMetadata
	copies map[string]bool // backups and rescue sets, by the name of the first Secret
	lock   *coordinationv1.Lease
	run    *coordinationv1.Lease
}

// exact reports whether the labels name the owner itself. They cannot when its name is too long for a label.
func (e *entry) exact() bool {
	return e.object.Validate() == nil && naming.Suffix(e.object) == e.suffix
}

// inventory lists what the namespace has of objects, by the labels, sorted by kind and name. No Secret's data is read.
func (cl *cluster) inventory(ctx context.Context) ([]*entry, error) {
	found := map[string]*entry{}
	if err := cl.addSecrets(ctx, found); err != nil {
		return nil, err
	}
	if err := cl.addLeases(ctx, found); err != nil {
		return nil, err
	}
	var all []*entry
	for _, e := range found {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Kind, b.object.Kind),
			cmp.Compare(a.object.Name, b.object.Name), cmp.Compare(a.suffix, b.suffix))
	})
	return all, nil
}

// entryOf returns the entry that something with these labels belongs to. The suffix proves a kind and a name; nothing
// proves a cluster, and a label may be the one at fault.
func entryOf(found map[string]*entry, namespace, suffix string, marks map[string]string) *entry {
	key := namespace + "/" + suffix
	e := found[key]
	if e == nil {
		e = &entry{suffix: suffix, object: naming.Object{Namespace: namespace}, copies: map[string]bool{}}
		found[key] = e
	}
	if !e.exact() && marks[naming.LabelOwnerKind] != "" {
		e.object.Kind, e.object.Name = naming.Kind(marks[naming.LabelOwnerKind]), marks[naming.LabelOwnerName]
	}
	if name, there := marks[naming.LabelCluster]; there && !slices.Contains(e.clusters, name) {
		e.clusters = append(e.clusters, name)
	}
	e.object.Cluster = ""
	if len(e.clusters) == 1 {
		e.object.Cluster = e.clusters[0]
	}
	return e
}

const pageSize = 500

func (cl *cluster) addSecrets(ctx context.Context, found map[string]*entry) error {
	secrets := cl.metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(cl.namespace)
	opts := listOptions(labels.Set{naming.LabelManaged: "true"})
	for {
		list, err := secrets.List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list secrets: %w", err)
		}
		for _, s := range list.Items {
			addSecret(found, s)
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return nil
		}
	}
}

func addSecret(found map[string]*entry, s metav1.PartialObjectMetadata) {
	if suffix := s.Labels[naming.LabelCopySuffix]; suffix != "" {
		if s.Labels[naming.LabelCluster] == "" { // it may have been made when nothing named the cluster
			delete(s.Labels, naming.LabelCluster)
		}
		name, _, _ := strings.Cut(s.Name, "-part-")
		entryOf(found, s.Namespace, suffix, s.Labels).copies[name] = true
		return
	}
	suffix, ok := suffixOf(s.Name)
	if !ok {
		return
	}
	e := entryOf(found, s.Namespace, suffix, s.Labels)
	e.chunks = append(e.chunks, s)
}

func (cl *cluster) addLeases(ctx context.Context, found map[string]*entry) error {
	opts := listOptions(labels.Set{naming.LabelManaged: "true"})
	for {
		list, err := cl.client.CoordinationV1().Leases(cl.namespace).List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list leases: %w", err)
		}
		for i := range list.Items {
			addLease(found, &list.Items[i])
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return nil
		}
	}
}

func addLease(found map[string]*entry, l *coordinationv1.Lease) {
	suffix, ok := suffixOf(l.Name)
	if !ok {
		return
	}
	e := entryOf(found, l.Namespace, suffix, l.Labels)
	switch l.Name {
	case naming.LockLease(suffix):
		e.lock = l
	case naming.RunLease(suffix):
		e.run = l
	}
}

func listOptions(selector labels.Set) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: selector.String(), Limit: pageSize}
}
