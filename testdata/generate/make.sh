#!/usr/bin/env bash
# Writes testdata/warehouse and testdata/engine anew. See testdata/README.md.
set -euo pipefail

# The newest Iceberg runtime, and the newest Spark that it has a build for.
runtime=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
# The last Iceberg line that can write v1 snapshots without a manifest list.
legacy=org.apache.iceberg:iceberg-spark-runtime-3.2_2.12:0.14.1

here=$(cd "$(dirname "$0")" && pwd)
testdata=$(dirname "$here")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/iceberg_exporter
# Every path in the tables' metadata starts with this, so it must be the same on every machine.
location=/tmp/iceberg_exporter_warehouse

for tool in java javac mvn python3; do
	command -v "$tool" >/dev/null || { echo "make.sh needs $tool: install Python 3.10+, a JDK 17 or 21, and Maven" >&2; exit 1; }
done

python=$cache/venv/bin/python
if ! cmp -s "$here/requirements.txt" "$cache/venv/requirements.txt"; then
	rm -rf "$cache/venv"
	python3 -m venv "$cache/venv"
	"$python" -m pip install --quiet --requirement "$here/requirements.txt"
	cp "$here/requirements.txt" "$cache/venv/"
fi

jar() { # group:artifact:version
	local artifact=${1#*:}
	echo "$cache/jars/${artifact/:/-}.jar"
}
for coordinates in "$runtime" "$legacy"; do
	[ -f "$(jar "$coordinates")" ] ||
		mvn --quiet --batch-mode dependency:copy -Dartifact="$coordinates" -DoutputDirectory="$cache/jars"
done

spark_jars=$("$python" -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')/jars
rm -rf "$cache/classes" && mkdir -p "$cache/classes"
javac -nowarn -d "$cache/classes" -cp "$(jar "$runtime"):$spark_jars/*" "$here/EqualityDeletes.java"
javac -nowarn -d "$cache/classes" -cp "$(jar "$legacy"):$spark_jars/*" "$here/LegacyTable.java"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$location"' EXIT
rm -rf "$location"

export WAREHOUSE_LOCATION=$location SCRATCH=$scratch PYTHONDONTWRITEBYTECODE=1
ICEBERG_CLASSPATH=$(jar "$runtime"):$cache/classes
LEGACY_CLASSPATH=$(jar "$legacy"):$cache/classes:$spark_jars/*
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
