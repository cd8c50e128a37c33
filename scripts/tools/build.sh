#!/usr/bin/env bash
# build.sh TOOL... builds the pinned test tools from Go modules, each once, into a cache, and links
# them into .tools/ of the checkout: .tools/bin/NAME for commands, .tools/mirror for the provider.
#
# TOOL is tofu, terraform, k8s (etcd, the Kubernetes components and kubectl in one binary), versitygw
# (an S3 gateway), probe (the test provider) or image (which builds images without a container engine). Each is a module of its own in a folder beside this
# script, with a build.sh that builds into a given folder. A tool's cache folder is keyed by that
# folder's files and the Go version, so a new pin is built beside the old one and a second checkout
# builds nothing.
#
#   CAPTF_TOOLS_CACHE   the cache folder (default: captf-runner/tools in the user's cache folder)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${CAPTF_TOOLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/captf-runner/tools}
platform=$(go env GOOS)_$(go env GOARCH)
# GOGC: the compiler has the memory, and takes a tenth less CPU with it.
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off GOGC=${GOGC:-400}

say() { printf 'tools: %s\n' "$*" >&2; }

key() { # TOOL: the hash of all that decides its binary
	(cd "$here/$1" && { go version; find . -type f ! -name '*_test.go' | LC_ALL=C sort | xargs cat; }) | sha256sum | cut -c1-16
}

# progress turns the package names that `go build -v` prints into a count, and passes errors on.
progress() {
	awk '/^[A-Za-z0-9.\/_-]+$/ { if (++n % 100 == 0) print "tools:   " n " packages compiled"; fflush(); next } { print; fflush() }' >&2
}

build() { # TOOL DIR
	local start=$SECONDS tmp
	tmp=$(mktemp -d "$cache/$1/.build-XXXXXX")
	chmod 755 "$tmp"
	say "building $1 (once; from nothing on two free cores: tofu 8, terraform 4, k8s 17, versitygw 3, probe 1 minutes)"
	(cd "$here/$1" && bash build.sh "$tmp" 2>&1) | progress || { rm -rf "$tmp"; return 1; }
	mv "$tmp" "$2"
	say "built $1 in $((SECONDS - start)) s"
}

link() { # TOOL DIR
	local file mirror=$root/.tools/mirror/example.test/captf/probe/0.1.0
	if [ "$1" = probe ]; then
		mkdir -p "$mirror"
		ln -sfn "$2" "$mirror/$platform"
		return
	fi
	mkdir -p "$root/.tools/bin"
	for file in "$2"/*; do
		ln -sf "$file" "$root/.tools/bin/${file##*/}"
	done
}

[ $# -gt 0 ] || { say "usage: build.sh tofu|terraform|k8s|versitygw|probe|image ..."; exit 2; }
for tool in "$@"; do
	[ -f "$here/$tool/build.sh" ] || { say "unknown tool $tool: use tofu, terraform, k8s, versitygw, probe or image"; exit 2; }
	dir=$cache/$tool/$(key "$tool")
	mkdir -p "$cache/$tool"
	exec 9>"$cache/$tool/.lock"
	flock 9 # two checkouts may ask at once
	[ -d "$dir" ] || build "$tool" "$dir"
	exec 9>&-
	link "$tool" "$dir"
done
