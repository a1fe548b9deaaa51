#!/usr/bin/env bash
# Runs everything together: exporters, Prometheus with the rules, Alertmanager, and writers that change tables.
#
# It needs Go, Prometheus, Alertmanager and a Python with PyIceberg (`make install-deps` gets them). Where one is missing
# it says so and does nothing, or fails where E2E_REQUIRE_PARTS is 1. It takes about two minutes and listens on loopback only.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() {
	echo "The end-to-end run needs $1." >&2
	[ "${E2E_REQUIRE_PARTS:-}" != 1 ] || exit 1
	echo "It is skipped." >&2
	exit 0
}

python=${ICEBERG_EXPORTER_PYTHON:-.cache/venv/bin/python}
command -v go >/dev/null || missing "Go"
command -v prometheus >/dev/null || missing "prometheus (Debian's package prometheus)"
command -v alertmanager >/dev/null || command -v prometheus-alertmanager >/dev/null ||
	missing "alertmanager (Debian's package prometheus-alertmanager)"
"$python" -c 'import pyiceberg.catalog.sql, pyarrow' 2>/dev/null ||
	missing "a Python with pyiceberg[sql-sqlite,pyarrow], named by ICEBERG_EXPORTER_PYTHON"

export PYTHONDONTWRITEBYTECODE=1
"$python" -m doctest e2e/durations.py

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
# ICEBERG_EXPORTER_BINARY tests one that is built already.
exporter=${ICEBERG_EXPORTER_BINARY:-$bin/iceberg_exporter}
[ -n "${ICEBERG_EXPORTER_BINARY:-}" ] || go build -o "$exporter" ./cmd/iceberg_exporter
go -C e2e build -o "$bin/maintain" ./maintain
"$python" e2e/run.py "$exporter" "$bin/maintain"
