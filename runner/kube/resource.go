package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// object is a pointer to a T that knows its own name.
type object[T any] interface {
	*T
	GetName() string
}

// resource makes the requests for one resource in one namespace. The exported types wrap it and
// expose only the calls that a Job's role allows.
type resource[T any, P object[T]] struct {
	client    *Client
	path      string // of the API group and version: /api/v1
	plural    string
	namespace string
}

func newResource[T any, P object[T]](c *Client, path, plural, namespace string) resource[T, P] {
	if namespace == "" {
		namespace = c.namespace
	}
	return resource[T, P]{client: c, path: path, plural: plural, namespace: namespace}
}

func (r resource[T, P]) get(ctx context.Context, name string, opts metav1.GetOptions) (*T, error) {
	return getNamed[T, P](ctx, r.client, r.request(http.MethodGet, &opts), name)
}

func (r resource[T, P]) create(ctx context.Context, obj *T, opts metav1.CreateOptions) (*T, error) {
	return call[T](ctx, r.client, r.request(http.MethodPost, &opts), obj)
}

func (r resource[T, P]) update(ctx context.Context, obj *T, opts metav1.UpdateOptions) (*T, error) {
	return call[T](ctx, r.client, r.request(http.MethodPut, &opts).Name(P(obj).GetName()), obj)
}

func (r resource[T, P]) delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	_, err := call[json.RawMessage](ctx, r.client, r.request(http.MethodDelete, nil).Name(name), &opts)
	return err
}

func (r resource[T, P]) request(verb string, opts runtime.Object) *rest.Request {
	req := r.client.rest.Verb(verb).AbsPath(r.path).Namespace(r.namespace).Resource(r.plural)
	if opts != nil {
		req.SpecificallyVersionedParams(opts, r.client.params, v1)
	}
	return req
}

// getNamed asks for one object, and takes no other one for it: an empty answer would be a state, or a lock, that is not
// there.
func getNamed[T any, P object[T]](ctx context.Context, c *Client, req *rest.Request, name string) (*T, error) {
	found, err := call[T](ctx, c, req.Name(name), nil)
	if err != nil {
		return nil, err
	}
	if got := P(found).GetName(); got != name {
		return nil, fmt.Errorf("decode answer: it is not %s but an object called %q: something else answers than the API server", name, got)
	}
	return found, nil
}

// call sends body, unless it is nil, and decodes the answer. An error is the server's Status
// whenever the server sent one.
func call[T any](ctx context.Context, c *Client, req *rest.Request, body any) (*T, error) {
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		req.Body(raw).SetHeader("Content-Type", runtime.ContentTypeJSON)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	result := req.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	return out, nil
}
