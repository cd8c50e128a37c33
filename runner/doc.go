// Package runner runs one operation of tofu or terraform on one state, from its options to its
// result: it prepares a clean environment, initialises the backend, clears a lock that was handed
// down as stale, runs the steps of the operation, survives signals, and leaves a result document.
//
// [Run] is the whole of it; cmd/captf-runner gives it flags. What it does is the contract of
// spec/runner.md. The steps themselves are processes of package runtime; the result is a document of
// package result.
package runner
