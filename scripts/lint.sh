#!/usr/bin/env bash
# lint.sh checks what needs no running program.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(gofmt -l cmd runner e2e scripts internal)
if [ -n "$unformatted" ]; then
	printf 'lint: run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet -tags e2e ./...
(cd e2e/webpage && go vet ./...) # a module of its own
go tool -modfile=scripts/lint/go.mod staticcheck -tags e2e ./...
