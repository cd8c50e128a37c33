//go:build e2e

package cluster

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
)

// known are the files that the state knows, sorted.
func (s *subject) known(t *testing.T) (names []string) {
	t.Helper()
	secret, err := s.client.CoreV1().Secrets(s.object.Namespace).Get(t.Context(), naming.StateSecret(s.suffix, 0), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(secret.Data["tfstate"]))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Attributes struct{ Path string }
			}
		}
	}
	if err := json.NewDecoder(z).Decode(&state); err != nil {
		t.Fatal(err)
	}
	for _, r := range state.Resources {
		for _, instance := range r.Instances {
			if r.Type == "probe_file" {
				names = append(names, strings.TrimPrefix(instance.Attributes.Path, dataDir+"/"))
			}
		}
	}
	slices.Sort(names)
	return names
}
