// Package e2e tests the commands as their users run them: the built binary, a real tofu and a real
// terraform, a real API server with RBAC on, and real signals. There is nothing else in it.
package e2e
