#!/usr/bin/env bash
# Compares the predictions of package maintenance with what Iceberg's Spark procedures do, case by case, and records the
# engine's answers in testdata. Names of cases (functions of engine/cases.py) limit the run to them; nothing is recorded
# then. It ends with 1 on any difference.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
generate=$here/../testdata/generate
# Every path in the tables' metadata starts with this, so it must be the same on every machine.
location=/tmp/iceberg_exporter_interop

for tool in go java javac mvn python3; do
	command -v "$tool" >/dev/null || { echo "run.sh needs $tool: install Go, Python 3.10+, a JDK 17 or 21, and Maven" >&2; exit 2; }
done

. "$generate/engine.sh"
jar=$(jar "$runtime")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$location"' EXIT
rm -rf "$location"

javac -nowarn -d "$scratch/classes" -cp "$jar:$spark_jars/*" "$here/engine/Commit.java"
go -C "$here" build -o "$scratch/predict" ./predict

export WAREHOUSE_LOCATION=$location SCRATCH=$scratch PREDICT=$scratch/predict ICEBERG_CLASSPATH=$jar:$scratch/classes
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$generate:$here/engine SPARK_LOCAL_IP=127.0.0.1
# Engines record the user's name as the table's owner.
export SPARK_USER=sample HADOOP_USER_NAME=sample
"$python" "$here/engine/cases.py" "$here/testdata" "$@"
