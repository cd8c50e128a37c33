package kubernetes

import (
	"context"
	"errors"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/kube"
	"github.com/captf/captf-runner/runner/statesrv/store"
	"github.com/captf/captf-runner/runner/statesrv/store/settle"
)

// A revision is the Secret's resourceVersion, and behind a slash its parts, so that
// whoever swaps it knows what to clear away.

func revisionOf(secret *kube.Secret) store.Revision {
	if parts := secret.Annotations[partsAnnotation]; parts != "" {
		return store.Revision(secret.ResourceVersion + "/" + parts)
	}
	return store.Revision(secret.ResourceVersion)
}

// split returns the resourceVersion and the parts of a revision. ok is false for
// what cannot be one: the server would take an empty one for no condition.
func split(rev store.Revision) (version, parts string, ok bool) {
	version, parts, _ = strings.Cut(string(rev), "/")
	other := func(r rune) bool { return r < '0' || r > '9' }
	return version, parts, version != "" && !strings.ContainsFunc(version, other)
}

// write stores the parts of a value first, then the Secret that decides, and clears
// away what nothing names any more.
func (s *Store) write(ctx context.Context, w settle.Write) (store.Revision, error) {
	v, err := encode(w.Data, func(number int, data []byte) error { return s.createPart(ctx, w, number, data) })
	if err != nil {
		s.dropParts(ctx, w.Key, w.ID)
		return "", s.explain(err)
	}
	rev, err := settle.Do(ctx, server{s, v}, w)
	switch {
	case err == nil:
		if _, parts, _ := split(w.Old); parts != "" {
			id, _, _ := strings.Cut(parts, ".")
			s.dropParts(ctx, w.Key, id)
		}
	case v.parts > 0 && !errors.Is(err, store.ErrUnknown):
		s.dropParts(ctx, w.Key, w.ID)
	}
	return rev, err
}

// server is the API server as package settle sees it, for one value.
type server struct {
	*Store
	value value
}

// Put implements settle.Server.
func (s server) Put(ctx context.Context, w settle.Write) (store.Revision, error) {
	secret := &kube.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.nameOf(w.Key), Labels: s.labels(w.Key),
			Annotations: map[string]string{keyAnnotation: w.Key, writeAnnotation: w.ID, sizeAnnotation: strconv.Itoa(len(w.Data))},
		},
		Type: secretType, Data: s.value.data,
	}
	if s.value.parts > 0 {
		secret.Annotations[partsAnnotation] = partsName(w.ID, s.value.parts)
	}
	var err error
	if w.Create {
		secret, err = s.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		secret.ResourceVersion, _, _ = split(w.Old)
		secret, err = s.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return "", err
	}
	return revisionOf(secret), nil
}

// Look implements settle.Server.
func (s server) Look(ctx context.Context, key string) (settle.Object, error) {
	secret, err := s.secrets.Get(ctx, s.nameOf(key), metav1.GetOptions{})
	if absent.Is(err) {
		return settle.Object{}, nil
	}
	if err != nil {
		return settle.Object{}, err
	}
	return settle.Object{Exists: true, Revision: revisionOf(secret), ID: secret.Annotations[writeAnnotation]}, nil
}

// AnswerOf implements settle.Server. client-go repeats some requests by itself, so
// a conflict may be one's own success: settle looks.
func (s server) AnswerOf(err error) settle.Answer {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return settle.Refused
	case apierrors.IsNotFound(err) && !noNamespace(err):
		return settle.Refused
	case apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return settle.Unclear
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 {
		return settle.Never
	}
	return settle.Unclear
}

// noNamespace tells a namespace that is not there from a Secret that is not.
func noNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// Explain implements settle.Server.
func (s server) Explain(err error) error { return s.explain(err) }
