#!/usr/bin/env bash
# demo.sh shows what captf-runner does, on this machine and without a cluster: apply, a second apply that
# finds no changes, drift, destroy, and the history that is left. A tofu or terraform on PATH is used;
# without one the pinned OpenTofu is built first.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD

scripts/tools/build.sh probe
if ! command -v tofu >/dev/null && ! command -v terraform >/dev/null; then
	scripts/tools/build.sh tofu
	export PATH=$project/.tools/bin:$PATH
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/files"
cp -r scripts/demo "$work/demo"
printf 'dir = "%s"\n' "$work/files" >"$work/demo/terraform.tfvars"
cd "$work"

say() { printf '\n=== %s\n' "$*"; }
run() { "$project/bin/captf-runner" run --local --module demo --providers "$project/.tools/mirror" "$@"; }

say "apply: two files are made"
run --op apply
cat files/copy.txt

say "apply again: nothing to do"
run --op apply

say "somebody changes one file and removes the other: drift"
echo "goodbye" >files/greeting.txt
rm files/copy.txt
run --op drift

say "destroy"
run --op destroy
ls -A files

say "what is left: every version of the state, and who wrote it"
"$project/bin/statesrv" history --data .captf/state demo

say "the result document of the last run"
cat .captf/results/demo.json
echo
