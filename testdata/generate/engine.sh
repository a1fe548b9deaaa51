# To be sourced: the engine that writes the sample warehouse, and that the predictions are held against. It needs
# python3 and mvn, and keeps what it fetches outside of the repository.
#   runtime  the Iceberg runtime, as Maven coordinates     cache  where everything is
#   python   a Python with PySpark and PyIceberg           jar    prints the path of a runtime, which it fetches

# The newest Iceberg runtime, and with requirements.txt the newest Spark that it has a build for.
runtime=org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/iceberg_exporter

requirements=$(dirname "${BASH_SOURCE[0]}")/requirements.txt
python=$cache/venv/bin/python
if ! cmp -s "$requirements" "$cache/venv/requirements.txt"; then
	rm -rf "$cache/venv"
	python3 -m venv "$cache/venv"
	"$python" -m pip install --quiet --requirement "$requirements"
	cp "$requirements" "$cache/venv/"
fi

jar() { # group:artifact:version
	local artifact=${1#*:}
	local file=$cache/jars/${artifact/:/-}.jar
	[ -f "$file" ] || mvn --quiet --batch-mode dependency:copy -Dartifact="$1" -DoutputDirectory="$cache/jars" >&2
	echo "$file"
}

spark_jars=$("$python" -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')/jars
