// Package torture holds the tests that kill, stop and starve a run at chosen and at random moments, and then
// look for what was lost. Nothing here is played: the runtimes, the provider, the API server, the state server, the
// signals and the full disk are real.
//
// See docs/torture.md. The whole of it is run by `make torture`; without CAPTF_TORTURE=1 a chosen part of it runs.
package torture
