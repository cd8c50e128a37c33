package kube

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metadata is an object without its content.
type Metadata struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// As these the server is asked to leave the content out.
const (
	asMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// GetMetadata is Get without what is in the Secret: the server does not send it.
func (s Secrets) GetMetadata(ctx context.Context, name string, opts metav1.GetOptions) (*Metadata, error) {
	return getNamed[Metadata](ctx, s.r.client, s.r.request(http.MethodGet, &opts).SetHeader("Accept", asMetadata), name)
}

// ListMetadata reads the Secrets that opts selects without what is in them, one page of them when opts.Limit is set.
func (s Secrets) ListMetadata(ctx context.Context, opts metav1.ListOptions) (*List[Metadata], error) {
	r := s.r.request(http.MethodGet, &opts).SetHeader("Accept", asMetadataList)
	list, err := call[List[Metadata]](ctx, s.r.client, r, nil)
	if err == nil && list.ResourceVersion == "" { // every list has one: an empty answer is not one of nothing
		return nil, errors.New("decode answer: it is no list: something else answers than the API server")
	}
	return list, err
}
