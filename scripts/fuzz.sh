#!/usr/bin/env bash
# Runs every fuzz target of the module, with so many tries each. (A count and not a
# time: at the end of a time the fuzzer sometimes calls a try that it cut off a failure.)
set -euo pipefail
tries=${1:-10000x}
targets=0
while read -r file; do
	dir=./$(dirname "$file")
	for f in $(grep -ohE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //'); do
		go test -run "^$" -fuzz "^$f\$" -fuzztime "$tries" -fuzzminimizetime 10x "$dir"
		targets=$((targets + 1))
	done
done < <(grep -rlE '^func Fuzz' --include='*_test.go' . | sed 's|^\./||' | sort)
echo "RESULT fuzz_targets=$targets failed=0"
