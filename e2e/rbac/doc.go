// Package rbac tests deploy/rbac.yaml against a real API server: a run needs every verb in it, and may do
// nothing else.
package rbac
