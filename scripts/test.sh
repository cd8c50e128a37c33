#!/usr/bin/env bash
# test.sh runs every test with the race detector. It expects the tools of `make tools`, and installs a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
# The test machine may name a CLI configuration, a plug-in cache or a cluster: none of it is for the tests.
for name in $(compgen -e | grep -E '^(TF_|KUBE|CAPTF_)' | grep -v '^CAPTF_TOOLS_CACHE$'); do unset "$name"; done
export CGO_ENABLED=1 # the race detector needs it
scripts/chromium.sh
go test -race -count=1 -timeout 40m "$@" ./...
cd e2e/webpage # a module of its own
CGO_ENABLED=0 go test -count=1 -timeout 10m "$@" ./...
