#!/bin/sh
# Starts a real Alertmanager with alertmanager.example.yml, sends it alerts and checks which of them
# it inhibits. It is done before the first group_wait is over, so no receiver is called.
set -eu
config="$(dirname "$0")/../alertmanager.example.yml"
address=${ALERTMANAGER_ADDRESS:-127.0.0.1:19093}
# Debian's package has another name for the same program.
alertmanager=$(command -v alertmanager || command -v prometheus-alertmanager)
dir=$(mktemp -d)

"$alertmanager" --config.file="$config" --storage.path="$dir" --web.listen-address="$address" \
	--cluster.listen-address= >"$dir/log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT

am() { amtool --alertmanager.url="http://$address" "$@"; }

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

tries=0
until am alert query >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ "$tries" -le 50 ] && kill -0 "$pid" 2>/dev/null || {
		cat "$dir/log" >&2
		fail "Alertmanager did not start"
	}
	sleep 0.2
done

# is STATE LABEL=VALUE..., STATE being active or inhibited. Alertmanager takes alerts in asynchronously: wait.
is() {
	want=$1
	shift
	tries=0
	until am alert query "--$want" "$@" | tail -n +2 | grep -q .; do
		tries=$((tries + 1))
		[ "$tries" -le 25 ] || fail "not $want: $*"
		sleep 0.2
	done
	echo "ok: $want: $*"
}

orders="catalog=lakehouse namespace=sales table=orders"
lines="catalog=lakehouse namespace=sales table=order_lines"
clicks="catalog=streaming namespace=web table=clicks"

# Word splitting of the labels is meant.
# shellcheck disable=SC2086
{
	echo "A critical alert inhibits the warning of the same symptom and table, and nothing else."
	am alert add alertname=IcebergDataFilesHigh severity=critical $orders
	am alert add alertname=IcebergDataFilesHigh severity=warning $orders
	am alert add alertname=IcebergDataFilesHigh severity=warning $lines
	am alert add alertname=IcebergSnapshotsHigh severity=warning $orders
	is inhibited alertname=IcebergDataFilesHigh severity=warning $orders
	is active alertname=IcebergDataFilesHigh severity=critical $orders
	is active alertname=IcebergDataFilesHigh severity=warning $lines
	is active alertname=IcebergSnapshotsHigh severity=warning $orders

	echo "Drift against a week and against a day is one symptom."
	am alert add alertname=IcebergLayoutDrift severity=critical window=1d $clicks
	am alert add alertname=IcebergLayoutDrift severity=warning window=1w $clicks
	is inhibited alertname=IcebergLayoutDrift severity=warning window=1w $clicks

	echo "A catalog that is down inhibits that its tables are down, and nothing else."
	am alert add alertname=IcebergTableDown severity=warning $orders
	am alert add alertname=IcebergTableDown severity=critical $clicks
	am alert add alertname=IcebergCatalogDown severity=critical catalog=lakehouse
	is inhibited alertname=IcebergTableDown severity=warning $orders
	is active alertname=IcebergTableDown severity=critical $clicks
	is active alertname=IcebergDataFilesHigh severity=critical $orders

	echo "One of two exporters down inhibits nothing."
	am alert add alertname=IcebergExporterDown severity=warning job=iceberg instance=b:10072
	is active alertname=IcebergExporterDown severity=warning job=iceberg instance=b:10072
	is active alertname=IcebergDataFilesHigh severity=critical $orders

	echo "A catalog that nobody watches inhibits its own alert, those of its tables and the warning of the exporter."
	am alert add alertname=IcebergExporterDown severity=warning job=iceberg instance=a:10072
	am alert add alertname=IcebergExporterDown severity=critical job=iceberg instance=a:10072 catalog=lakehouse
	is inhibited alertname=IcebergExporterDown severity=warning job=iceberg instance=a:10072
	is inhibited alertname=IcebergDataFilesHigh severity=critical $orders
	is inhibited alertname=IcebergSnapshotsHigh severity=warning $orders
	is inhibited alertname=IcebergCatalogDown catalog=lakehouse
	is active alertname=IcebergExporterDown severity=critical instance=a:10072 catalog=lakehouse
	is active alertname=IcebergExporterDown severity=warning instance=b:10072
	is active alertname=IcebergTableDown severity=critical $clicks
	is active alertname=IcebergLayoutDrift severity=critical window=1d $clicks
}
