#!/usr/bin/env bash
# Runs the README's own examples against `togo dev`: each ```sh block and each ```go
# program, and where an ```output block follows, compares what was printed with it.
# Needs kcat and curl; DuckDB is the one of TOGO_PYARROW's environment, if set.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
dev=
finish() {
	[ -n "$dev" ] && kill "$dev" 2>/dev/null && wait "$dev" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT

(cd "$root" && go build -trimpath -o bin/togo ./cmd/togo)
export PATH=$root/bin:$PATH
[ -n "${TOGO_PYARROW:-}" ] && PATH=$(dirname "$TOGO_PYARROW"):$PATH
for tool in curl kcat duckdb; do
	command -v $tool >/dev/null || { echo "readme-examples: $tool is missing" >&2; exit 1; }
done

# n.sh, n/main.go and n.out, numbered in the order of the page. Programs lie within the
# module, whose requirements they use.
programs=$root/.cache/readme
rm -rf "$programs" && mkdir -p "$programs"
awk -v dir="$work" -v programs="$programs" '
	/^```sh$/     { n++; out = dir "/" sprintf("%02d", n) ".sh"; next }
	/^```go$/     {
		n++
		name = sprintf("%02d", n)
		system("mkdir -p " programs "/" name)
		print "cd " programs "/" name " && go run ." > (dir "/" name ".sh")
		out = programs "/" name "/main.go"
		next
	}
	/^```output$/ { out = dir "/" sprintf("%02d", n) ".out"; next }
	/^```/        { out = ""; next }
	out           { print > out }
' "$root/README.md"

cd "$work"
togo dev >dev.out 2>dev.log &
dev=$!
for _ in $(seq 300); do
	curl -fsS -o /dev/null http://localhost:8080/ready 2>/dev/null && break
	kill -0 $dev || { cat dev.log >&2; exit 1; }
	sleep 0.1
done

# What was sent becomes visible with the next commit: an example whose output is
# not yet the page's is run again, for at most 30 s.
passed=0
for script in [0-9][0-9].sh; do
	want=${script%.sh}.out
	deadline=$((SECONDS + 30))
	while :; do
		bash -euo pipefail "$script" >got 2>err || { echo "readme-examples: failed: $(cat "$script")" >&2; cat got err >&2; exit 1; }
		[ -f "$want" ] || break
		diff <(sed '/^$/d' got) "$want" >difference && break
		if [ $SECONDS -ge $deadline ]; then
			echo "readme-examples: other output than the README says, of: $(cat "$script")" >&2
			cat difference err >&2
			exit 1
		fi
		sleep 0.5
	done
	passed=$((passed + 1))
done
echo "RESULT examples=$passed failed=0"
