package lock

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// apiError names the verb, the resource, the Lease and, where there is one, the way out.
func apiError(name, verb string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s lease %s: %w (grant %s on leases.coordination.k8s.io)", verb, name, err, verb)
	}
	return fmt.Errorf("%s lease %s: %w", verb, name, err)
}

// passing reports whether the same request may well succeed a moment later. An answer of 4xx will
// not, save for the three codes that say "try again"; no answer at all, and 5xx, will.
func passing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}
