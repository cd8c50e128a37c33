// Package absent tells an object that does not exist from an answer that only looks like it.
package absent

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Is reports whether err is the API server's own word that an object does not exist. A page with status 404 is none: it
// comes from a load balancer that does not reach the server, or from a server that is starting and does not serve the
// resource yet. Taken for an answer it would mean that there is no lock, no state and no Job.
func Is(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}
