#!/usr/bin/env bash
# Runs bench/compare with what it needs, got first as far as this machine has the tools for
# it: Go gives the S3 server; Maven and java give Apache Kafka and the Iceberg sink. Steps that
# miss theirs are skipped, and said so. Arguments are those of bench/compare.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v "${CC:-cc}" >/dev/null; then
	echo "compare: there is no C compiler, which DuckDB's driver needs: install one (cc), or name it by CC" >&2
	exit 1
fi
if command -v java >/dev/null && { command -v mvn >/dev/null || [[ -n ${TOGO_KAFKA_LIBS:-} ]]; }; then
	if bash -euo pipefail -c '. scripts/servers.sh'; then
		. scripts/servers.sh
		if [[ -z ${TOGO_CONNECT_LIBS:-} ]] && command -v mvn >/dev/null; then
			libs=$PWD/.cache/connect-$(cksum <bench/compare/connect/pom.xml | cut -d' ' -f1)
			# Whole or not there; without the jars the sink is skipped.
			if [[ ! -d $libs ]]; then
				rm -rf .cache/connect.part
				if mvn -q -B -f bench/compare/connect/pom.xml dependency:copy-dependencies -Dlibs="$PWD/.cache/connect.part"; then
					mv .cache/connect.part "$libs"
				else
					echo "compare: the Iceberg sink could not be had" >&2
				fi
			fi
			[[ ! -d $libs ]] || export TOGO_CONNECT_LIBS=$libs
		fi
	else
		echo "compare: Apache Kafka or the S3 server could not be had" >&2
	fi
fi
cd bench/compare
CGO_ENABLED=1 exec go run . "$@"
