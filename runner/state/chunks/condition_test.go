package chunks_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/captf/captf-runner/runner/state"
)

// definition is a custom resource with conditions as every controller declares them.
const definition = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.test"},
  "spec": {
    "group": "example.test", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
      "conditions": {"type": "array", "items": {"type": "object", "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}, "message": {"type": "string", "maxLength": 32768}
      }}}
    }}}}]
  }
}`

// TestConditionFits has the API server take a condition whose message was too long, which it refuses as it was.
// cases.md 65.
func TestConditionFits(t *testing.T) {
	c := newCluster(t)
	rest := shared(t).Clientset().Discovery().RESTClient()
	create := func(path string, body []byte) error {
		return rest.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Error()
	}
	if err := create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", []byte(definition)); err != nil {
		t.Fatal(err)
	}
	cause := errors.New(strings.Repeat("ü", 40_000))
	thing := func(name, message string) error {
		readable := state.Readable(cause)
		body, err := json.Marshal(map[string]any{
			"apiVersion": "example.test/v1", "kind": "Thing", "metadata": map[string]string{"name": name},
			"conditions": []map[string]string{{"type": readable.Type, "status": readable.Status, "reason": readable.Reason, "message": message}},
		})
		if err != nil {
			return err
		}
		return create("/apis/example.test/v1/namespaces/"+c.Object.Namespace+"/things", body)
	}
	deadline := time.Now().Add(time.Minute)
	err := thing("bounded", state.Readable(cause).Message)
	for ; apierrors.IsNotFound(err) && time.Now().Before(deadline); err = thing("bounded", state.Readable(cause).Message) {
		time.Sleep(20 * time.Millisecond) // until the resource is served
	}
	if err != nil {
		t.Errorf("the bounded message: %v", err)
	}
	if err := thing("whole", cause.Error()); !apierrors.IsInvalid(err) {
		t.Errorf("the whole message: %v, want it refused", err)
	}
}
