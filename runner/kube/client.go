// Package kube is the runner's slim client of the Kubernetes API: it reaches the cluster that the
// `kubernetes` backend of OpenTofu and Terraform reaches, with the same settings, and offers just
// the calls that the ServiceAccount of a Job may make.
//
// Start with [New], which turns a [Config] into a [Client]; then pick a resource, for example
// [Client.Leases]. Every method speaks JSON and returns the API server's own errors, so that the
// predicates of k8s.io/apimachinery/pkg/api/errors (IsNotFound, IsConflict, IsForbidden) work.
//
// The package links k8s.io/client-go/rest and no typed clientset, because it is part of a binary
// that is copied into every pod. Secrets, ConfigMaps and Events are therefore small structs of its
// own; the Lease is that of k8s.io/api, which costs next to nothing.
package kube

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// DefaultTimeout bounds a request, with its retries, when Config.Timeout is zero.
const DefaultTimeout = 30 * time.Second

var v1 = schema.GroupVersion{Version: "v1"}

// Client talks to one API server. It is safe for concurrent use.
type Client struct {
	rest      *rest.RESTClient
	params    runtime.ParameterCodec
	namespace string
	timeout   time.Duration
}

// New connects as cfg says. It makes no request: a server that is not there shows at the first
// call. The error names the setting, or the file, that is wrong.
func New(cfg Config) (*Client, error) {
	rc, err := cfg.restConfig()
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	return newClient(rc, cfg)
}

func newClient(rc *rest.Config, cfg Config) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, v1)

	rc.UserAgent = cmp.Or(cfg.UserAgent, "captf-runner")
	rc.GroupVersion = &v1 // of Status; every request names its own path
	rc.ContentType = runtime.ContentTypeJSON
	rc.AcceptContentTypes = runtime.ContentTypeJSON
	rc.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	rc.WarningHandler = rest.NoWarnings{}
	rc.QPS = -1 // a run makes a handful of requests; the server's own fairness is enough

	restClient, err := rest.UnversionedRESTClientFor(rc)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	c := &Client{
		rest:      restClient,
		params:    runtime.NewParameterCodec(scheme),
		namespace: cfg.Namespace,
		timeout:   cfg.Timeout,
	}
	if c.namespace == "" {
		c.namespace = metav1.NamespaceDefault
	}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	return c, nil
}

// Namespace returns the namespace of the backend, "default" when the settings name none.
func (c *Client) Namespace() string { return c.namespace }
