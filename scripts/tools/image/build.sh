set -euo pipefail
go build -v -trimpath -ldflags "-s -w" -o "$1/image" .
