set -euo pipefail
go build -v -trimpath -ldflags "-s -w" -o "$1/terraform-provider-probe_v0.1.0" .
