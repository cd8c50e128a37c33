package backup

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/runner/naming"
	"github.com/captf/captf-runner/runner/state"
)

const suffix = "0123456789abcdef-m"

func part(n int, digest, parts string) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: naming.BackupSecret(suffix, 7, n), Annotations: map[string]string{naming.AnnotationDigest: digest, naming.AnnotationParts: parts},
	}}
}

func TestComplete(t *testing.T) {
	tests := map[string]struct {
		secrets []corev1.Secret
		want    bool
	}{
		"one":               {[]corev1.Secret{part(0, "a", "1")}, true},
		"out of order":      {[]corev1.Secret{part(2, "a", "3"), part(0, "a", "3"), part(1, "a", "3")}, true},
		"no base":           {[]corev1.Secret{part(1, "a", "2")}, false},
		"no last":           {[]corev1.Secret{part(0, "a", "2")}, false},
		"a gap":             {[]corev1.Secret{part(0, "a", "3"), part(2, "a", "3")}, false},
		"one too many":      {[]corev1.Secret{part(0, "a", "1"), part(1, "a", "1")}, false},
		"of two states":     {[]corev1.Secret{part(0, "a", "2"), part(1, "b", "2")}, false},
		"cut in two ways":   {[]corev1.Secret{part(0, "a", "2"), part(1, "a", "3")}, false},
		"a part of another": {[]corev1.Secret{part(1, "b", "2"), part(0, "a", "1")}, true},
		"says no number":    {[]corev1.Secret{part(0, "a", "")}, false},
		"a negative one":    {[]corev1.Secret{part(0, "a", "-1")}, false},
		"gap in the count":  {[]corev1.Secret{part(0, "a", "2"), part(2, "a", "2")}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sets(suffix, tt.secrets)
			if len(got) != 1 || got[0].Complete() != tt.want {
				t.Errorf("got %+v, want one that is complete: %v", got, tt.want)
			}
		})
	}
}

func TestCheckLineage(t *testing.T) {
	set := Set{Name: "copy", Lineage: "a"}
	tests := map[string]struct {
		current *state.Summary
		asked   string
		refused bool
	}{
		"nothing there":      {nil, "", false},
		"same":               {&state.Summary{Lineage: "a"}, "", false},
		"other":              {&state.Summary{Lineage: "b"}, "", true},
		"asked for":          {&state.Summary{Lineage: "b"}, "a", false},
		"asked for another":  {&state.Summary{Lineage: "b"}, "b", true},
		"state without any":  {&state.Summary{}, "", true},
		"asked for the same": {&state.Summary{Lineage: "a"}, "a", false},
		"of what is there":   {&state.Summary{Lineage: "a"}, "c", true},
		"of nothing there":   {nil, "c", true},
	}
	for name, tt := range tests {
		if err := set.CheckLineage(tt.current, tt.asked); errors.Is(err, ErrLineage) != tt.refused {
			t.Errorf("%s: got %v, want it refused: %v", name, err, tt.refused)
		}
	}
}
