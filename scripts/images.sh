#!/usr/bin/env bash
# images.sh builds the images of this repository, with docker or without.
#
#   images.sh dist [ARCH...]   stage in dist/ what the Dockerfiles copy: the runner for each ARCH, and for this
#                              machine's the pinned tofu, terraform and test provider, if they are built
#   images.sh runner FILE      write the runner's image for all ARCHs as an OCI archive (no docker)
#   images.sh all DIR          add all images, examples too, for this machine to the OCI layout DIR (no docker)
#
# Without docker means with scripts/tools/image, which `make tools` builds.
#
#   CA_BUNDLE   the certificates of public authorities (default: this machine's)
#   TAG         the images' tag (default: dev)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ca=${CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}
tag=${TAG:-dev}
native=$(go env GOARCH)
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
archs=(amd64 arm64)

say() { printf 'images: %s\n' "$*" >&2; }

# Files keep no time of their own: docker build takes it into the image.
stage() {
	local arch dir
	mkdir -p dist/rootfs/etc/ssl/certs dist/work
	[ -f "$ca" ] || { say "no certificates at $ca: install ca-certificates, or name a file in CA_BUNDLE"; return 1; }
	install -m 644 "$ca" dist/rootfs/etc/ssl/certs/ca-certificates.crt
	for arch in "$@"; do
		dir=dist/$arch
		say "build the runner for $arch"
		GOOS=linux GOARCH=$arch VERSION=$version make -s captf-runner BIN="$dir"
		[ "$arch" = "$native" ] || continue
		CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/pause" ./scripts/cluster/pause
		for tool in tofu terraform; do
			[ ! -e ".tools/bin/$tool" ] || cp -uL ".tools/bin/$tool" "$dir/"
		done
		[ ! -e .tools/mirror ] || { mkdir -p "$dir/providers" && cp -ruL .tools/mirror/. "$dir/providers/"; }
	done
	chmod -R u=rwX,go=rX dist
	find dist -exec touch -h -d @0 {} +
}

image() { .tools/bin/image "$@"; }

runner_image() { # LAYOUT PLATFORMS
	image -f Dockerfile -t "localhost/captf-runner:$tag" --build-arg "VERSION=$version" --platform "$2" -o "$1" .
}

archive() { # FILE
	local dir
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' RETURN
	runner_image "$dir/layout" "$(printf ',linux/%s' "${archs[@]}" | cut -c2-)"
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=posix --pax-option=delete=atime,delete=ctime \
		-C "$dir/layout" -cf "$1" .
	say "wrote $1, $(sha256sum "$1" | cut -c1-64)"
}

all() { # LAYOUT
	local runtime
	image -f scripts/cluster/pause/Dockerfile -t localhost/pause:dev -o "$1" .
	runner_image "$1" "linux/$native"
	for runtime in opentofu terraform; do
		local base=localhost/captf-$runtime:$tag
		image -f "images/$runtime/Dockerfile" -t "$base" --build-arg "RUNNER=localhost/captf-runner:$tag" -o "$1" .
		image -f images/examples/bare/Dockerfile -t "localhost/captf-example-bare-$runtime:$tag" --build-arg "BASE=$base" -o "$1" images/examples/bare
		image -f images/examples/mirror/Dockerfile -t "localhost/captf-example-mirror-$runtime:$tag" --build-arg "BASE=$base" -o "$1" .
	done
}

case ${1:-} in
dist) shift; stage "${@:-$native}" ;;
runner) stage "${archs[@]}"; archive "$2" ;;
all) stage "$native"; all "$2" ;;
*) say "usage: images.sh dist [ARCH...] | runner FILE | all DIR"; exit 2 ;;
esac
