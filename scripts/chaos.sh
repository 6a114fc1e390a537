#!/usr/bin/env bash
# Runs cmd/chaos with the servers that it needs, which are got first. Arguments are
# those of cmd/chaos.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/servers.sh
go build -o bin/chaos ./cmd/chaos
exec bin/chaos -togo bin/togo "$@"
