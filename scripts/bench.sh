#!/usr/bin/env bash
# bench.sh measures the runner against what it replaces, and the state reader against gunzip, each pair in one run:
# the ratios mean something on any machine, the times do not. It expects the tools of `make tools`, and a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
for name in $(compgen -e | grep -E '^(TF_|KUBE|CAPTF_)' | grep -v '^CAPTF_TOOLS_CACHE$'); do unset "$name"; done
go test -run '^$' -bench 'Apply|Start' -benchtime 15x -count 1 ./e2e
go test -run '^$' -bench Read -count 1 ./runner/state
