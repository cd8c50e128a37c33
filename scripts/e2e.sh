#!/usr/bin/env bash
# e2e.sh runs the tests that need real pods or docker, in a cluster that it brings up and takes down again. Its arguments go to
# go test. It fails if the cluster leaves anything behind on this machine.
#
#   CAPTF_TORTURE=1   a node that reboots and an API server that stays away, too, and ten times as many killed controllers
#   CAPTF_KEEP=1      leave the cluster up, for `go test -tags e2e ./e2e/cluster -run ...` by hand
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for name in $(compgen -e | grep -E '^(TF_|KUBE|CAPTF_)' | grep --line-buffered -vE '^CAPTF_(TOOLS_CACHE|TORTURE|KEEP)$'); do unset "$name"; done

before=$(mktemp)
finish() {
	local status=$?
	trap - EXIT
	[ -n "${CAPTF_KEEP:-}" ] && exit $status
	scripts/docker.sh down || status=1
	scripts/cluster.sh down || status=1
	scripts/cluster.sh leftovers | diff "$before" - >&2 || { echo "e2e: the cluster left the above behind" >&2; status=1; }
	rm -f "$before"
	exit $status
}

rm -rf .tools/layout
scripts/images.sh all .tools/layout
scripts/cluster.sh packages
scripts/docker.sh packages
scripts/docker.sh down
scripts/cluster.sh down
scripts/cluster.sh leftovers >"$before"
trap finish EXIT
trap 'exit 130' INT TERM
scripts/cluster.sh up .tools/layout >/dev/null
CAPTF_DOCKER_HOST=$(scripts/docker.sh up)
export CAPTF_DOCKER_HOST
CGO_ENABLED=1 go test -race -tags e2e -count=1 -timeout 40m -v "$@" ./e2e/cluster | grep --line-buffered -vE '^(=== |    --- PASS)'
