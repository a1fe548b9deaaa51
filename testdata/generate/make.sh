#!/usr/bin/env bash
# Writes testdata/warehouse and testdata/engine anew. See testdata/README.md.
set -euo pipefail

# The last Iceberg line that can write v1 snapshots without a manifest list.
legacy=org.apache.iceberg:iceberg-spark-runtime-3.2_2.12:0.14.1

here=$(cd "$(dirname "$0")" && pwd)
testdata=$(dirname "$here")
# Every path in the tables' metadata starts with this, so it must be the same on every machine.
location=/tmp/iceberg_exporter_warehouse

for tool in java javac mvn python3; do
	command -v "$tool" >/dev/null || { echo "make.sh needs $tool: install Python 3.10+, a JDK 17 or 21, and Maven" >&2; exit 1; }
done

. "$here/engine.sh"
runtime_jar=$(jar "$runtime")
legacy_jar=$(jar "$legacy")

rm -rf "$cache/classes" && mkdir -p "$cache/classes"
javac -nowarn -d "$cache/classes" -cp "$runtime_jar:$spark_jars/*" "$here/EqualityDeletes.java"
javac -nowarn -d "$cache/classes" -cp "$legacy_jar:$spark_jars/*" "$here/LegacyTable.java"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$location"' EXIT
rm -rf "$location"

export WAREHOUSE_LOCATION=$location SCRATCH=$scratch PYTHONDONTWRITEBYTECODE=1
ICEBERG_CLASSPATH=$runtime_jar:$cache/classes
LEGACY_CLASSPATH=$legacy_jar:$cache/classes:$spark_jars/*
export ICEBERG_CLASSPATH LEGACY_CLASSPATH
# Engines record the user's name as the table's owner.
export SPARK_USER=sample HADOOP_USER_NAME=sample SPARK_LOCAL_IP=127.0.0.1

"$python" "$here/tables.py"
rm -rf "$testdata/warehouse"
cp -R "$location" "$testdata/warehouse"

# Spark reads what was published, at the location that the metadata names.
rm -rf "$location"
cp -R "$testdata/warehouse" "$location"
rm -rf "$testdata/engine" && mkdir "$testdata/engine"
"$python" "$here/answers.py" "$testdata/engine"
