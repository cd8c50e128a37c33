package kube

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metadata is an object without its content.
type Metadata struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// asMetadata asks the server to leave the content out.
const asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// ListMetadata is List without what is in the Secrets: the server does not send it.
func (s Secrets) ListMetadata(ctx context.Context, opts metav1.ListOptions) (*List[Metadata], error) {
	r := s.r.request(http.MethodGet, &opts).SetHeader("Accept", asMetadata)
	return call[List[Metadata]](ctx, s.r.client, r, nil)
}
