#!/usr/bin/env bash
# Every test, with the servers and languages that some of them need: an S3 server
# (versitygw), Apache Kafka, DuckDB (a module of its own, with cgo), pyarrow, kcat.
# Nothing is skipped: what misses its server fails.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CI_REQUIRE_SERVERS=1
. scripts/servers.sh

if [ ! -x .cache/python/bin/pip ]; then
	python3 -m venv .cache/python
fi
.cache/python/bin/pip install -q --disable-pip-version-check 'pyarrow>=17' 'duckdb-cli==1.5.6'
export TOGO_PYARROW=$root/.cache/python/bin/python

go vet ./...
go test -count=1 ./...
(cd readback && CGO_ENABLED=1 go test -count=1 ./...)
make sqldiff
(cd bench/queries && CGO_ENABLED=1 go test -count=1 ./...)
(cd bench/compare && CGO_ENABLED=1 go test -count=1 ./...)
./scripts/readme-examples.sh
