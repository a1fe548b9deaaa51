#!/usr/bin/env bash
# Checks the alert and recording rules, runs their tests, and tries the Alertmanager example.
set -euo pipefail
cd "$(dirname "$0")/../rules"

for tool in promtool amtool; do
	command -v "$tool" >/dev/null || {
		echo "rules-check needs $tool: apt-get install prometheus prometheus-alertmanager" >&2
		exit 1
	}
done

promtool check rules --lint=all ./*.rules.yml
promtool test rules tests/*.test.yml
for script in tests/*.sh; do
	echo "$script"
	sh "$script"
done
