package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List is a page of objects. Continue of its ListMeta is empty on the last page.
type List[T any] struct {
	metav1.ListMeta `json:"metadata"`
	Items           []T `json:"items"`
}

// Secret has every field of a core/v1 Secret that a server sends, so that an update loses none.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Immutable         *bool             `json:"immutable,omitempty"`
	Data              map[string][]byte `json:"data,omitempty"`
	Type              string            `json:"type,omitempty"`
}

// ConfigMap has every field of a core/v1 ConfigMap.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Immutable         *bool             `json:"immutable,omitempty"`
	Data              map[string]string `json:"data,omitempty"`
	BinaryData        map[string][]byte `json:"binaryData,omitempty"`
}

// Event has the fields of a core/v1 Event that a writer sets. Its namespace must be that of the
// object that it is about.
type Event struct {
	metav1.TypeMeta     `json:",inline"`
	metav1.ObjectMeta   `json:"metadata"`
	InvolvedObject      ObjectReference   `json:"involvedObject"`
	Reason              string            `json:"reason,omitempty"`
	Message             string            `json:"message,omitempty"` // the server takes at most 1024 bytes
	Type                string            `json:"type,omitempty"`    // Normal or Warning
	Action              string            `json:"action,omitempty"`
	Source              EventSource       `json:"source,omitzero"`
	FirstTimestamp      metav1.Time       `json:"firstTimestamp,omitzero"`
	LastTimestamp       metav1.Time       `json:"lastTimestamp,omitzero"`
	EventTime           *metav1.MicroTime `json:"eventTime,omitempty"`
	Count               int32             `json:"count,omitempty"`
	ReportingController string            `json:"reportingComponent,omitempty"`
	ReportingInstance   string            `json:"reportingInstance,omitempty"`
}

// ObjectReference names the object that an event is about.
type ObjectReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
}

// EventSource names the program that reports an event.
type EventSource struct {
	Component string `json:"component,omitempty"`
	Host      string `json:"host,omitempty"`
}
