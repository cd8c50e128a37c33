package absent_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf/captf-runner/internal/absent"
)

func TestIs(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"none":      {nil, false},
		"the word":  {apierrors.NewNotFound(secrets, "s"), true},
		"wrapped":   {fmt.Errorf("get: %w", apierrors.NewNotFound(secrets, "s")), true},
		"a page":    {fmt.Errorf("get: %w", apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", secrets, "s", "404 page not found", 0, true)), false},
		"forbidden": {apierrors.NewForbidden(secrets, "s", nil), false},
		"no answer": {errors.New("connection refused"), false},
	} {
		if got := absent.Is(c.err); got != c.want {
			t.Errorf("%s: Is(%v) = %v, want %v", name, c.err, got, c.want)
		}
	}
}
