// Package runner runs one operation of tofu or terraform on one state, from its options to its
// result: it prepares a clean environment, initialises the backend, clears a lock that was handed
// down as stale, runs the steps of the operation, survives signals, and leaves a result document.
//
// [Run] is the whole of it; cmd/captf-runner gives it flags. What it does is the contract of
// spec/runner.md. The steps themselves are processes of package runtime; the result is a document of
// package result.
//
// A run has three parts: prepare (prepare.go) finds what is wrong before anything runs, operate
// (operations.go) runs the steps, each by step (step.go), and finish (finish.go) writes the result for the
// last time. What they share is in the struct run (run.go).
package runner
