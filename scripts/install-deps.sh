#!/usr/bin/env bash
# Installs what the heavier tests and checks need. It is for Debian and needs root; running it again is cheap.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
	ca-certificates curl git make procps
	gcc libc6-dev                       # go test -race
	prometheus prometheus-alertmanager  # promtool, amtool, and the rules in real servers
	buildah                             # the image, without a daemon
	postgresql                          # a SQL catalog
	default-jdk-headless maven          # Iceberg's REST catalog, and Spark
	python3-venv                        # PyIceberg, another writer and reader
)

missing=()
for package in "${packages[@]}"; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	echo "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	export RUNLEVEL=1 # Packages do not start their services.
	apt-get -qq update
	apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >/dev/null
fi

scripts/fetch-parts.sh
