#!/bin/sh
# Checks alertmanager.example.yml and that each kind of alert reaches the receiver it should.
set -eu
config="$(dirname "$0")/../alertmanager.example.yml"

amtool check-config "$config"

# to RECEIVER LABEL=VALUE...
to() {
	receiver=$1
	shift
	if ! amtool config routes test --config.file="$config" --verify.receivers="$receiver" "$@" >/dev/null 2>&1; then
		echo "FAILED: $* goes to $(amtool config routes test --config.file="$config" "$@" 2>/dev/null), not to $receiver" >&2
		exit 1
	fi
	echo "ok: $* -> $receiver"
}

orders="catalog=lakehouse namespace=sales table=orders"
clicks="catalog=streaming namespace=web table=clicks"
trial="catalog=sandbox namespace=tmp table=trial"

# Word splitting of the labels is meant.
# shellcheck disable=SC2086
{
	to webhook alertname=IcebergDataFilesHigh severity=warning $orders
	to pager alertname=IcebergDataFilesHigh severity=critical $orders
	to webhook alertname=IcebergDataFilesHigh severity=warning $clicks
	to streaming-pager alertname=IcebergDataFilesHigh severity=critical $clicks
	to webhook alertname=IcebergDataFilesHigh severity=critical $trial
	to pager alertname=IcebergFilesMissing severity=critical $orders
	to pager alertname=IcebergCatalogDown severity=critical catalog=lakehouse
	to streaming-pager alertname=IcebergCatalogDown severity=critical catalog=streaming
	to webhook alertname=IcebergExporterDown severity=warning job=iceberg instance=a:10072
	to pager alertname=IcebergExporterDown severity=critical job=iceberg instance=a:10072 catalog=lakehouse
	to pager alertname=IcebergExporterAbsent severity=critical job=iceberg
	to webhook alertname=IcebergManifestCacheTooSmall severity=warning job=iceberg instance=a:10072
}
