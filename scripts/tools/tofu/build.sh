# Upstream's own release flags; without version.dev=no the version reads 1.12.6-dev.
set -euo pipefail
go build -v -trimpath -ldflags "-s -w -X github.com/opentofu/opentofu/version.dev=no" \
	-o "$1/tofu" github.com/opentofu/opentofu/cmd/tofu
