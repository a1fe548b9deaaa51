#!/usr/bin/env bash
# Runs every fuzz target of the module for DURATION each: fuzz-smoke.sh [DURATION]
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:-10s}

ran=0
while read -r package directory files; do
	[ -n "$files" ] || continue
	# shellcheck disable=SC2086 # Names of Go files have no spaces.
	for target in $(cd "$directory" && sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' $files); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -fuzzminimizetime 10x "$package" </dev/null
		ran=$((ran + 1))
	done
done < <(go list -f '{{.ImportPath}} {{.Dir}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}' ./...)
echo "$ran fuzz targets ran"
[ "$ran" -gt 0 ] # None at all would mean that they were not found.
