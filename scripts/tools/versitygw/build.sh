# The S3 gateway, with its version as upstream sets it.
set -euo pipefail
version=$(go list -m -f '{{.Version}}' github.com/versity/versitygw)
go build -v -trimpath -ldflags "-s -w -X main.Version=$version" -o "$1/versitygw" github.com/versity/versitygw/cmd/versitygw
