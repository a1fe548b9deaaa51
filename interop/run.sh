#!/usr/bin/env bash
# Compares the exporter's code with what Iceberg's Spark procedures do, case by case, and records the engine's answers in
# testdata. It ends with 1 on any difference, and with 77 where the engine cannot be had.
#
#   run.sh [check | predictions|orphans [case ...] | freed]
#
# One of the suites can be run alone. Names of cases (functions of engine/cases.py or engine/orphans.py) limit the run
# to them; nothing is recorded then, nor with check.
set -euo pipefail

case ${1-} in
"" | check) suites=(cases orphans freed) ;;
predictions) suites=(cases) ;;
orphans | freed) suites=("$1") ;;
*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
generate=$here/../testdata/generate
# Every path in the tables' metadata starts with this, so it must be the same on every machine.
location=/tmp/iceberg_exporter_interop

for tool in go java javac mvn python3; do
	command -v "$tool" >/dev/null || { echo "skipped: run.sh needs $tool: install Go, Python 3.10+, a JDK 17 or 21, and Maven" >&2; exit 77; }
done
# In a shell of its own, which ends at the first thing that fails.
bash -euo pipefail -c '. "$0" && jar "$runtime" >/dev/null' "$generate/engine.sh" ||
	{ echo "skipped: run.sh needs Spark from PyPI and Iceberg from Maven Central, and cannot fetch them" >&2; exit 77; }
. "$generate/engine.sh"
jar=$(jar "$runtime")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$location"' EXIT
record=$here/testdata
[ "${1-}" = check ] && record=$scratch
shift $(($# > 0))

javac -nowarn -d "$scratch/classes" -cp "$jar:$spark_jars/*" "$here/engine/Commit.java"
go -C "$here" build -o "$scratch" ./predict ./scan

export WAREHOUSE_LOCATION=$location SCRATCH=$scratch PREDICT=$scratch/predict SCAN=$scratch/scan
export ICEBERG_CLASSPATH=$jar:$scratch/classes PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$generate:$here/engine SPARK_LOCAL_IP=127.0.0.1
# Engines record the user's name as the table's owner.
export SPARK_USER=sample HADOOP_USER_NAME=sample
# Java reads and writes names of files in the encoding of the locale.
export LC_ALL=C.UTF-8

failed=0
for suite in "${suites[@]}"; do
	rm -rf "$location"
	"$python" "$here/engine/$suite.py" "$record" "$@" || failed=1
done
exit $failed
