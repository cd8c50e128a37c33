package naming

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackendSelector(t *testing.T) {
	want := map[string]string{
		"tfstate": "true", "tfstateSecretSuffix": "0123456789abcdef-m", "tfstateWorkspace": "default",
		"app.kubernetes.io/managed-by": "terraform", "team": "a",
	}
	got := BackendSelector("0123456789abcdef-m", map[string]string{"team": "a"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnselected(t *testing.T) {
	selector := map[string]string{"a": "1", "b": "", "c": "3"}
	for _, tt := range []struct {
		labels map[string]string
		want   string // empty if all are there
	}{
		{map[string]string{"a": "1", "b": "", "c": "3", "d": "4"}, ""},
		{map[string]string{"a": "1", "c": "3"}, "b"}, // an empty value is not an absent one
		{map[string]string{"a": "1", "b": "", "c": "4"}, "c"},
		{nil, "a"},
	} {
		if key, ok := Unselected(selector, tt.labels); key != tt.want || ok != (tt.want != "") {
			t.Errorf("Unselected(%v) = %q, %v, want %q", tt.labels, key, ok, tt.want)
		}
	}
}
