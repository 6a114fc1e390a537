#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each.
set -euo pipefail
time=${1:-5s}
targets=0
while read -r file; do
	dir=./$(dirname "$file")
	for f in $(grep -ohE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //'); do
		go test -run "^$" -fuzz "^$f\$" -fuzztime "$time" -fuzzminimizetime 10x "$dir"
		targets=$((targets + 1))
	done
done < <(grep -rlE '^func Fuzz' --include='*_test.go' . | sed 's|^\./||' | sort)
echo "RESULT fuzz_targets=$targets failed=0"
