// Package kubernetes keeps records as Secrets of one namespace, for several state
// servers on the cluster's own etcd. Start with [Parse] and [Open].
//
// A record is one Secret: made by a create, swapped by an update with the
// resourceVersion of the value read before. A value that does not fit is
// compressed, and then cut into Secrets of its own, which are made before the one
// that names them: a reader sees the old value or the new one.
//
// # Names
//
// Keys have characters that names of objects have not, so a Secret's name is a
// readable part of the key and a digest of all of it. The key itself is an
// annotation. Labels with digests of the key's directories make List possible.
//
// # The log
//
// Events do not get a Secret each: etcd has a few gigabytes for the whole cluster.
// Lines are appended to a Secret by swaps until it has 64 KiB.
//
// # Configuration
//
// KUBECONFIG names the files, STATESRV_KUBE_CONTEXT the context. Without KUBECONFIG
// the ServiceAccount of the pod is used, and outside a pod ~/.kube/config.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/settle"
)

// Store is a store.Store, store.Opener, store.Placed and store.Log. Several processes may use one
// namespace and prefix.
type Store struct {
	secrets   kube.Secrets
	namespace string
	prefix    string
	mark      store.Mark

	mu   sync.Mutex
	logs map[string]*logEnd
}

// Open prepares a client. It sends no request.
func Open(opts Options) (*Store, error) {
	client, err := kube.New(opts.Cluster)
	if missing := (*kube.MissingFileError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("kubeconfig: %w; KUBECONFIG names it, and in a pod none is needed", missing.Err)
	}
	if err != nil {
		return nil, err
	}
	return &Store{
		secrets: client.Secrets(opts.Namespace), namespace: opts.Namespace, prefix: opts.Prefix,
		logs: map[string]*logEnd{},
	}, nil
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	if err := store.Check(ctx, key); err != nil {
		return store.Record{}, err
	}
	rec, err := s.get(ctx, key)
	if err != nil {
		return store.Record{}, fmt.Errorf("get %s: %w", key, s.explain(err))
	}
	return rec, nil
}

// get reads again if the value was replaced between two requests.
func (s *Store) get(ctx context.Context, key string) (store.Record, error) {
	const reads = 3
	for read := 1; ; read++ {
		secret, err := s.secret(ctx, key)
		if err != nil {
			return store.Record{}, err
		}
		data, err := s.value(ctx, secret)
		switch {
		case absent.Is(err) && read < reads:
			continue // it was replaced or removed after it was read
		case absent.Is(err):
			return store.Record{}, fmt.Errorf("a part of it is gone: %w", store.ErrNotFound)
		}
		return store.Record{Data: data, Revision: revisionOf(secret)}, err
	}
}

// secret reads a record's Secret.
func (s *Store) secret(ctx context.Context, key string) (*kube.Secret, error) {
	secret, err := s.secrets.Get(ctx, s.nameOf(key), metav1.GetOptions{})
	if absent.Is(err) {
		return nil, store.ErrNotFound
	}
	if err == nil && secret.Annotations[keyAnnotation] != key {
		err = fmt.Errorf("the Secret %s is of key %q: it was written by another program", secret.Name, secret.Annotations[keyAnnotation])
	}
	return secret, err
}

// Open implements store.Opener. One part of the value is in memory at a time. A part
// that is not there is ErrNotFound, and one that goes meanwhile ends the stream with an
// error: who opens a record that may be swapped reads it with Get.
func (s *Store) Open(ctx context.Context, key string) (store.Body, error) {
	if err := store.Check(ctx, key); err != nil {
		return store.Body{}, err
	}
	secret, err := s.secret(ctx, key)
	if err != nil {
		return store.Body{}, fmt.Errorf("open %s: %w", key, s.explain(err))
	}
	body, err := s.stream(ctx, secret)
	if err != nil {
		return store.Body{}, fmt.Errorf("open %s: %w", key, s.explain(err))
	}
	return body, nil
}

// Create implements store.Store. Package settle says what becomes of answers that
// are lost.
func (s *Store) Create(ctx context.Context, key string, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	return s.write(ctx, settle.Create(key, data))
}

// Swap implements store.Store; see Create for lost answers.
func (s *Store) Swap(ctx context.Context, key string, old store.Revision, data []byte) (store.Revision, error) {
	if err := store.Check(ctx, key); err != nil {
		return "", err
	}
	w := settle.Swap(key, old, data)
	if _, _, ok := split(old); !ok {
		return settle.Refuse(ctx, server{Store: s}, w)
	}
	return s.write(ctx, w)
}

// Remove implements store.Store. The parts go last: who reads meanwhile finds no
// record rather than half of one.
func (s *Store) Remove(ctx context.Context, key string) error {
	if err := store.Check(ctx, key); err != nil {
		return err
	}
	if err := s.remove(ctx, key); err != nil {
		return fmt.Errorf("remove %s: %w", key, s.explain(err))
	}
	return nil
}

// remove leaves the parts of another write: a record of this key may be made again
// before these are gone.
func (s *Store) remove(ctx context.Context, key string) error {
	secret, err := s.secrets.GetMetadata(ctx, s.nameOf(key), metav1.GetOptions{})
	if err != nil && !absent.Is(err) {
		return err
	}
	id := ""
	if err == nil {
		id = secret.Annotations[writeAnnotation]
	}
	if err := s.delete(ctx, s.nameOf(key)); err != nil {
		return err
	}
	return s.each(ctx, s.partsOf(key), func(part kube.Metadata) error {
		if part.Labels[writeLabel] != id && time.Since(part.CreationTimestamp.Time) < writeTime {
			return nil
		}
		return s.delete(ctx, part.Name)
	})
}

// writeTime is more than a write takes from its first part to its last.
const writeTime = time.Hour

func (s *Store) delete(ctx context.Context, name string) error {
	err := s.secrets.Delete(ctx, name, metav1.DeleteOptions{})
	if absent.Is(err) {
		return nil
	}
	return err
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := s.names(ctx, dir)
		if err != nil {
			yield("", fmt.Errorf("list %q: %w", dir, s.explain(err)))
			return
		}
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

func (s *Store) names(ctx context.Context, dir string) ([]string, error) {
	prefix := ""
	if dir != "" {
		if err := store.CheckKey(dir); err != nil {
			return nil, err
		}
		prefix = dir + "/"
	}
	var names []string
	err := s.each(ctx, s.inside(dir), func(secret kube.Metadata) error {
		rest, ok := strings.CutPrefix(secret.Annotations[keyAnnotation], prefix)
		if ok && rest != "" {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// each calls fn for the Secrets that a selector names, without their values.
func (s *Store) each(ctx context.Context, selector string, fn func(kube.Metadata) error) error {
	opts := metav1.ListOptions{LabelSelector: selector, Limit: 500}
	for {
		page, err := s.secrets.ListMetadata(ctx, opts)
		if err != nil {
			return err
		}
		for _, secret := range page.Items {
			if err := fn(secret); err != nil {
				return err
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// explain adds the way out to errors that a person has to see to.
func (s *Store) explain(err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not accept the credentials of the kubeconfig, or of the pod's ServiceAccount: "+
			"they are wrong, or have expired: %w", err)
	case apierrors.HasStatusCause(err, namespaceTerminating):
		return fmt.Errorf("namespace %s is being deleted: %w", s.namespace, err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"): // admission gives no other mark
		return fmt.Errorf("the quota of namespace %s is used up: raise it, or set --max-versions: %w", s.namespace, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("no access to Secrets of namespace %s: the ServiceAccount needs get, list, create, update and delete on them: %w", s.namespace, err)
	case noNamespace(err):
		return fmt.Errorf("there is no namespace %s: make it: %w", s.namespace, err)
	case errors.As(err, new(*url.Error)) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("no answer from the API server: %w", err)
	}
	return err
}
