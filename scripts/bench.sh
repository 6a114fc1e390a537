#!/usr/bin/env bash
# Measures each step of an event's way and the figures that Togo stands by, in some
# minutes. BENCH_OUTPUT names a file that keeps the benchmarks' own output.
# Fails if a benchmark fails; never for a time.
set -euo pipefail
cd "$(dirname "$0")/.."
raw=${BENCH_OUTPUT:-$(mktemp)}
[[ -n ${BENCH_OUTPUT:-} ]] || trap 'rm -f "$raw"' EXIT
: >"$raw"

# measure PACKAGE TIME BENCHMARKS: one run, in a process of its own.
measure() {
	echo "measuring $1" >&2
	if ! go test -run '^$' -bench "$3" -benchtime "$2" -timeout 10m "./$1" >>"$raw" 2>&1; then
		tail -n 40 "$raw" >&2
		echo "bench: $1 failed" >&2
		exit 1
	fi
}

measure internal/event 0.5s '^Benchmark(Extract|Identity|PayloadHash|EnvelopeEncode|EnvelopeDecode)$'
measure internal/event/jsonscan 0.5s '^BenchmarkTape$'
measure placements 0.5s '^BenchmarkShard$/^(hot|cold)$'
measure router 0.5s '^Benchmark(Core|Place)$'
measure writer/dedup 0.5s '^Benchmark(Check|PageIn|Pressure)'
measure writer/shard 1s '^BenchmarkStep$'
measure internal/fragment 1s '^BenchmarkEncode(10k|100)$'
measure internal/fragment 2x '^BenchmarkMerge(Mixed)?$'
measure internal/idseg 0.5s '^Benchmark(Encode|DecodePart|Merge)$'
measure compactor/pick 1x '^BenchmarkLife$'
measure bench/path 500x '^BenchmarkCores$'
measure bench/path 300x '^BenchmarkThroughKafka$'
measure bench/beside 200x '^BenchmarkIngestion$'
measure bench/commits 1x '^BenchmarkCommit$'
measure bench/memory 1x '^BenchmarkWriter$'

echo
echo "$(go version | cut -d' ' -f3,4), $(getconf _NPROCESSORS_ONLN) processors:$(grep -m1 '^cpu:' "$raw" | cut -d: -f2), $(date -u +%F)"
echo
if command -v cc >/dev/null; then
	echo "The same merges by DuckDB, on one thread and in the same process (rows of a million, for a second of CPU):"
	(cd readback && CGO_ENABLED=1 go test -run '^$' -bench '^BenchmarkMerge$' -benchtime 2x .) | grep -E '^(Benchmark|FAIL)'
	echo
fi
go run ./bench/cmd/table <"$raw"
if command -v cc >/dev/null; then
	echo
	echo "Twelve queries, beside DuckDB on the same files:"
	echo
	(cd bench/queries && CGO_ENABLED=1 go run .)
fi
