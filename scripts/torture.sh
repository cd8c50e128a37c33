#!/usr/bin/env bash
# torture.sh runs the long tests whole, as root: the kill matrix, random kills and signals, hidden secrets, two state
# servers on one bucket under load, and every interleaving of two controllers and 50 clients that ask for leases. It expects the tools of `make tools`. Arguments go to go test, such as
# -run TestKillMatrix/cells/http.
set -euo pipefail
cd "$(dirname "$0")/.."
# The test machine may name a CLI configuration, a plug-in cache or a cluster: none of it is for the tests.
for name in $(compgen -e | grep -E '^(TF_|KUBE|CAPTF_)' | grep -v '^CAPTF_TOOLS_CACHE$'); do unset "$name"; done
export CAPTF_TORTURE=1 CGO_ENABLED=1 # the race detector needs it
run() { printf '\n== %s\n' "$*"; go test -race -count=1 -v -timeout 3h "$@"; }
run ./e2e/torture "$@"
[ $# -eq 0 ] || exit 0
run -run 'Signal|Killed|Ladder|NoSecret' ./e2e
run -run 'TestKill$' ./runner/statesrv
run -run 'TestModel|TestManyClients' ./runner/lease
STATESRV_TEST_REQUESTS=10000 run -run TwoServers ./e2e/stores
