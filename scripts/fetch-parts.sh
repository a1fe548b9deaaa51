#!/usr/bin/env bash
# Fetches the programs in other languages that tests run. It needs Python 3.10+ and Maven, and no root.
#   .cache/venv                PyIceberg: ICEBERG_EXPORTER_PYTHON is .cache/venv/bin/python
#   .cache/parts/rest-fixture  Iceberg's own REST catalog: ICEBERG_EXPORTER_REST_FIXTURE is this directory
# `make test` sets both variables when the parts are there.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in python3 mvn; do
	command -v "$tool" >/dev/null || {
		echo "fetch-parts needs $tool: install Python 3.10+ and Maven" >&2
		exit 1
	}
done

requirements=scripts/requirements.txt venv=.cache/venv
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --requirement "$requirements"
	cp "$requirements" "$venv/"
fi

pom=integration/restfixture/pom.xml jars=.cache/parts/rest-fixture
if ! cmp -s "$pom" "$jars/pom.xml"; then
	rm -rf "$jars"
	mvn --quiet --batch-mode --file "$pom" dependency:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$PWD/$jars"
	cp "$pom" "$jars/"
fi
