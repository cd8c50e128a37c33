#!/usr/bin/env bash
# bench.sh measures the runner against what it replaces, and the state reader against gunzip, each pair in one run:
# the ratios mean something on any machine, the times do not. It expects the tools of `make tools`, and a quiet machine.
# PAIRS says how many pairs of each kind are run.
set -euo pipefail
cd "$(dirname "$0")/.."
for name in $(compgen -e | grep -E '^(TF_|KUBE|CAPTF_)' | grep -v '^CAPTF_TOOLS_CACHE$'); do unset "$name"; done

# table prints the metrics of one benchmark: its name without the prefix, then the named units in order.
table() {
	awk -v benchmark="$1" -v units="$2" '
		BEGIN {
			n = split(units, unit, " ")
			head = "| " benchmark " |"; rule = "|---|"
			for (i = 1; i <= n; i++) { head = head " " unit[i] " |"; rule = rule "---|" }
		}
		index($1, "Benchmark" benchmark) == 1 {
			if (head != "") { print head "\n" rule; head = "" }
			name = substr($1, length("Benchmark" benchmark) + 1); sub(/^\//, "", name); sub(/-[0-9]+$/, "", name)
			for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
			row = "| " name " |"
			for (i = 1; i <= n; i++) row = row " " value[unit[i]] " |"
			print row
		}
		END { if (head == "") print "" }' "$out"
}

out=$(mktemp)
trap 'rm -f "$out"' EXIT
echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) before"
go test -run '^$' -bench 'Apply|Start|Footprint' -benchtime "${PAIRS:-30}x" -count 1 -timeout 30m ./e2e | tee "$out"
echo
table Apply "shell-ms runner-ms ratio cpu-ratio"
table Start start-ms
table Footprint "binary-bytes resident-KiB"
go test -run '^$' -bench Read -benchtime 15x -count 1 ./runner/state
# The state server: durable writes against the disk alone, in turns, with the threads that cmd/statesrv has at least;
# locks; the memory of a GET.
go test -run '^$' -bench 'Write|Lock' -cpu 8 -benchtime "${WRITES:-5000}x" -count 1 ./runner/statesrv
go test -run '^$' -bench Read -benchtime 10x -count 1 ./runner/statesrv
# A controller's sweep of 1,000 objects for stale locks: requests and seconds.
go test -run '^$' -bench Sweep -benchtime 3x -count 1 ./runner/launch
