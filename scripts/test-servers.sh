#!/usr/bin/env bash
# The tests that need other servers or languages: an S3 server (versitygw, built
# from its module), DuckDB (a module of its own, with cgo) and pyarrow.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
export CI_REQUIRE_SERVERS=1
mkdir -p "$root/bin" "$root/.cache"

(cd "$root/tools/versitygw" && CGO_ENABLED=0 go build -o "$root/bin/versitygw" github.com/versity/versitygw/cmd/versitygw)
export TOGO_VERSITYGW=$root/bin/versitygw

if [ ! -x "$root/.cache/python/bin/python" ]; then
	python3 -m venv "$root/.cache/python"
fi
"$root/.cache/python/bin/pip" install -q --disable-pip-version-check 'pyarrow>=17' 'duckdb-cli==1.5.6'
export TOGO_PYARROW=$root/.cache/python/bin/python

cd "$root"
go test -count=1 ./internal/objstore/... ./internal/e2e/...
(cd readback && CGO_ENABLED=1 go test -count=1 ./...)
./scripts/readme-examples.sh
